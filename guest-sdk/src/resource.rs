//! How the things a plugin is asked about are written.
//!
//! In a component each fact is fetched from the host when it is asked for. In a native
//! test all facts are made, and plugins cannot tell the difference.

/// Defines a thing that plugins are asked about, and the facts a test makes it from.
///
/// Each line is an accessor, a field of the facts of the same name and type, and a
/// function of the contract's resource.
macro_rules! resource {
    (
        $(#[$doc:meta])*
        $name:ident, made from $facts:ident {
            $($(#[doc = $about:literal])* $fact:ident: $type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[cfg_attr(not(target_arch = "wasm32"), derive(Clone))]
        pub struct $name<'host> {
            #[cfg(target_arch = "wasm32")]
            handle: crate::glue::Handle<'host, crate::glue::types::$name>,
            #[cfg(not(target_arch = "wasm32"))]
            facts: std::sync::Arc<$facts>,
            #[cfg(not(target_arch = "wasm32"))]
            host: std::marker::PhantomData<&'host ()>,
        }

        #[doc = concat!("The facts that a native test makes a [`", stringify!($name), "`] from.")]
        #[doc = ""]
        #[doc = "Field names are those of the accessors."]
        #[cfg(not(target_arch = "wasm32"))]
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "each is described at the accessor of its name")]
        pub struct $facts {
            $(pub $fact: $type,)*
        }

        impl $name<'_> {
            $(
                $(#[doc = $about])*
                pub fn $fact(&self) -> $type {
                    #[cfg(target_arch = "wasm32")]
                    return crate::glue::Ours::ours(self.handle.get().$fact());
                    #[cfg(not(target_arch = "wasm32"))]
                    self.facts.$fact.clone()
                }
            )*
        }

        #[cfg(target_arch = "wasm32")]
        impl<'host> $name<'host> {
            pub(crate) const fn borrowed(handle: &'host crate::glue::types::$name) -> Self {
                Self { handle: crate::glue::Handle::Borrowed(handle) }
            }
        }

        #[cfg(target_arch = "wasm32")]
        impl crate::glue::Ours for crate::glue::types::$name {
            type Ours = $name<'static>;

            fn ours(self) -> $name<'static> {
                $name { handle: crate::glue::Handle::Owned(self) }
            }
        }

        #[cfg(not(target_arch = "wasm32"))]
        impl $name<'static> {
            /// Changes the facts, in a native test.
            #[must_use]
            pub fn with(self, change: impl FnOnce(&mut $facts)) -> Self {
                let mut facts = std::sync::Arc::unwrap_or_clone(self.facts);
                change(&mut facts);
                facts.into()
            }
        }

        #[cfg(not(target_arch = "wasm32"))]
        impl From<$facts> for $name<'static> {
            fn from(facts: $facts) -> Self {
                Self { facts: std::sync::Arc::new(facts), host: std::marker::PhantomData }
            }
        }
    };
}

pub(crate) use resource;
