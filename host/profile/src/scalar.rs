//! What a scalar means: the core schema of YAML 1.2 and nothing else.
//!
//! `no`, `on` and `y` are text. Only `true`, `false`, `null`, `~` and numbers are not.

use serde_json::Number;

/// How a scalar is written, as far as its meaning depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Bare: may be a number, a truth value or null.
    Plain,
    /// In quotes, a block, or tagged `!!str`: always text.
    Quoted,
}

/// A single value as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The text, without quotes.
    pub text: String,
    /// How it is written.
    pub style: Style,
}

/// What a scalar means.
#[derive(Debug, Clone, PartialEq)]
pub enum Typed<'a> {
    /// Nothing is written at all.
    Empty,
    /// `null` or `~`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number that JSON can hold.
    Number(Number),
    /// Anything else.
    Text(&'a str),
}

impl Scalar {
    /// Returns what the scalar means, or why JSON cannot hold it.
    pub fn typed(&self) -> Result<Typed<'_>, &'static str> {
        let text = self.text.as_str();
        if self.style == Style::Quoted {
            return Ok(Typed::Text(text));
        }
        match text {
            "" => Ok(Typed::Empty),
            "null" | "Null" | "NULL" | "~" => Ok(Typed::Null),
            "true" | "True" | "TRUE" => Ok(Typed::Bool(true)),
            "false" | "False" | "FALSE" => Ok(Typed::Bool(false)),
            _ => match number(text)? {
                Some(number) => Ok(Typed::Number(number)),
                None => Ok(Typed::Text(text)),
            },
        }
    }
}

const TOO_LARGE: &str = "this number is too large to keep exactly; put it in quotes";
const NOT_FINITE: &str = "JSON has no such number; put it in quotes to pass it as text";

fn number(text: &str) -> Result<Option<Number>, &'static str> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(NOT_FINITE);
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix).filter(|d| all_digits(d, radix)) {
            return u64::from_str_radix(digits, radix)
                .map(|number| Some(number.into()))
                .map_err(|_overflow| TOO_LARGE);
        }
    }
    if all_digits(unsigned, 10) {
        return integer(text).map(Some).ok_or(TOO_LARGE);
    }
    if !is_float(unsigned) {
        return Ok(None);
    }
    let float: f64 = text.parse().map_err(|_not_a_float| NOT_FINITE)?;
    Number::from_f64(float).map(Some).ok_or(TOO_LARGE)
}

fn all_digits(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_digit(radix))
}

fn integer(text: &str) -> Option<Number> {
    let signed = text.parse::<i64>().ok().map(Number::from);
    signed.or_else(|| text.parse::<u64>().ok().map(Number::from))
}

/// Returns whether the text is `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        all_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent), 10)
    });
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => all_digits(fraction, 10),
        Some((whole, fraction)) => {
            all_digits(whole, 10) && (fraction.is_empty() || all_digits(fraction, 10))
        }
        None => all_digits(mantissa, 10),
    };
    exponent_fits && mantissa_fits
}
