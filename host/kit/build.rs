//! Has the sources that are built in taken anew when a file comes or goes: of a folder, a
//! macro can only follow the files that it saw.

fn main() {
    for folder in ["../../wit", "../../guest-sdk", "templates"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
