//! Which addresses a name may lead to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The networks of version 4 that are not the public internet, with the length of their prefix.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),       // this host
    (Ipv4Addr::new(10, 0, 0, 0), 8),      // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),   // behind a provider's NAT
    (Ipv4Addr::new(127, 0, 0, 0), 8),     // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16),  // link-local, where clouds keep credentials
    (Ipv4Addr::new(172, 16, 0, 0), 12),   // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),    // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),    // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),  // relays to version 6
    (Ipv4Addr::new(192, 168, 0, 0), 16),  // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),   // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),  // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),     // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),     // reserved, broadcast
];

/// All that is public in version 6 is in here: no loopback, unique-local, link-local, multicast.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// What is not public in `GLOBAL_V6`.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments, Teredo
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4, which holds any of version 4
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// The forms in which version 6 holds an address of version 4 in its last 32 bits.
const HOLDS_V4: [(Ipv6Addr, u32); 2] = [
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96), // mapped
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96), // translated by the network
];

/// Returns whether an address is one of the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) if HOLDS_V4.iter().any(|network| holds_v6(*network, address)) => {
            let [.., a, b, c, d] = address.octets();
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        IpAddr::V6(address) => {
            holds_v6(GLOBAL_V6, address)
                && !NOT_PUBLIC_V6
                    .iter()
                    .any(|network| holds_v6(*network, address))
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4.iter().any(|(network, prefix)| {
        let others = 32 - prefix;
        address.to_bits() >> others == network.to_bits() >> others
    })
}

fn holds_v6((network, prefix): (Ipv6Addr, u32), address: Ipv6Addr) -> bool {
    let others = 128 - prefix;
    address.to_bits() >> others == network.to_bits() >> others
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn the_public_internet_is_told_from_all_else() {
        let public = "
            1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255
            128.0.0.0 169.253.255.255 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0
            198.17.255.255 198.20.0.0 223.255.255.255 2000::1 2001:200::1
            2606:4700:4700::1111 2a00:1450:4001:82a::200e ::ffff:1.1.1.1 64:ff9b::1.1.1.1
        ";
        let not_public = "
            0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1
            127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1
            192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1
            239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 100::1 2001::1
            2001:db8::1 2002:7f00:1:: 3fff::1 4000::1 fc00::1 fd12:3456::1 fe80::1 fec0::1
            ff02::1 ::ffff:0.0.0.0 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:169.254.169.254
            ::ffff:224.0.0.1 64:ff9b::192.168.0.1 64:ff9b:1::1
        ";
        for text in public.split_whitespace() {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in not_public.split_whitespace() {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }
}
