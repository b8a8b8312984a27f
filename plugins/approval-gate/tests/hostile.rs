//! Whatever the text: an answer, on a guest's stack, and never a panic.

use approval_gate::{Context, Dialect, MAX_CODE_BYTES, classify};

/// What a guest has.
const STACK: usize = 512 * 1024;

const DIALECTS: [Dialect; 3] = [Dialect::Bash, Dialect::PowerShell, Dialect::Cmd];

fn rules(text: &str, dialect: Dialect) -> Vec<&'static str> {
    let temp_roots = ["/tmp".to_owned()];
    let context = Context {
        cwd: "/w",
        home: None,
        roots: &[],
        temp_roots: &temp_roots,
    };
    classify(text, dialect, &context)
        .iter()
        .map(|finding| finding.rule.id)
        .collect()
}

/// Classifies each text in each dialect on a small stack; returns what bash says.
fn check_answers(texts: Vec<String>) -> Vec<Vec<&'static str>> {
    let judge = move || {
        let judge_all = |text: &String| {
            let answers = DIALECTS.map(|dialect| rules(text, dialect));
            let [bash, ..] = answers;
            bash
        };
        texts.iter().map(judge_all).collect()
    };
    let thread = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(judge)
        .expect("a thread starts");
    thread.join().expect("no text makes it panic")
}

#[test]
fn answers_any_nesting() {
    let openers = [
        "(",
        "{ ",
        "$(",
        "${x:-",
        "$((",
        "((",
        "$[",
        "\"$(",
        "`",
        "<(",
        "[[ ! ",
        "[[ ( ",
        "if ",
        "if true; then ",
        "case x in a) ",
        "case x in (a) ",
        "while ",
        "for x in a; do ",
        "f() { ",
        "f() ( ",
        "function f { ",
        "coproc ",
        "! ",
        "{a,",
        "{",
        "\"${x:-\"",
        "'",
        "\"",
        "@(",
        "$'",
        "bash -c '",
        "[",
        "@{",
        "@(",
        "& {",
        "%{",
        "if exist a (",
        "eval ",
        "eval \"",
        "<<E ",
        "<<-'E'\n",
        "$( # '\n ')' ",
        "( ( a; ",
        "\\",
        "sudo ",
        "env -S '",
        "xargs ",
        "git -c alias.a='!",
        "trap '",
    ];
    for count in [31, 33, 100, 300, 10_000] {
        let nested = |opener: &&str| opener.repeat(count) + "rm -rf x";
        check_answers(openers.iter().map(nested).collect());
    }
}

#[test]
fn answers_closed_nesting() {
    let pairs = [
        ("(", ")"),
        ("{ ", "; }"),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("${x:-", "}"),
        ("$((", "))"),
        ("( (", ") )"),
        ("if true; then ", "; fi"),
        ("case x in a) ", " esac"),
        ("case x in a) ", ";; esac"),
        ("while true; do ", "; done"),
        ("f() { ", "; }"),
        ("`", "`"),
        ("<(", ")"),
        ("[[ ( ", " ) ]]"),
        ("{a,", "}"),
        ("& { ", " }"),
        ("\"$(\"", "\")\""),
        ("echo $(echo ", ")"),
        ("(a;", ")"),
        ("((a;", "))"),
    ];
    for count in [8, 20, 31, 33, 127, 129, 1_000, 10_000] {
        let nested =
            |(open, close): &(&str, &str)| open.repeat(count) + "rm -rf x" + &close.repeat(count);
        check_answers(pairs.iter().map(nested).collect());
    }
}

#[test]
fn answers_long_texts() {
    let units = [
        "a",
        " ",
        "a ",
        "rm -rf x; ",
        "a|",
        "a && ",
        "x=$y ",
        "$x",
        "${x}",
        "\"",
        "'",
        "\\",
        "\n",
        "<<E\n",
        "a{b,c}",
        "*",
        "~",
        "é",
        "\u{10FFFF}",
        "#",
        "`a`",
        "$(a)",
        "[[ a && ",
        "[[ a && b || ",
        ";",
        "&",
        "\0",
        "\r",
        "\u{feff}",
        "^",
        "%x%",
        "%",
        "(",
        ")",
        "}",
        "]]",
        "fi ",
        "done; ",
        "f(){ f; f; }; ",
        "a=b ",
        "9999999999>",
        "~99999999999999999999999 ",
        "$99999999999999999999 ",
        "{1..999999999} ",
        "{a..z}{a..z}",
        "\\ud800",
        "\u{fffd}",
        "cat <<E\nE\n",
        "-x=",
        "-",
        "--",
        "/s",
        "@",
        "<#",
        "@\"\n",
        "1>&2 ",
        "x+=y;",
        "for i in a b c d e; do x=$x$i; done;",
    ];
    let fill = |unit: &&str| unit.repeat(MAX_CODE_BYTES / unit.len());
    check_answers(units.iter().map(fill).collect());
}

#[test]
fn asks_about_what_it_does_not_read() {
    let long = "x".repeat(MAX_CODE_BYTES + 1);
    let deep = "( ".repeat(100) + "rm -rf x" + &" )".repeat(100);
    let expansions = "\"$(".repeat(200) + "rm -rf x" + &")\"".repeat(200);
    let wrappers = "sudo ".repeat(100) + "rm -rf x";
    let texts = vec![
        long,
        deep,
        expansions,
        wrappers,
        "rm -rf 'x".to_owned(),
        "ls 'x".to_owned(),
        "r''m -rf 'x'' (".to_owned(),
    ];
    let answers = check_answers(texts);
    let expected: [&[&str]; 7] = [
        &["too-large"],
        &["too-deep"],
        &["too-deep"],
        &["too-deep"],
        &["parse-error"],
        &[],
        &["parse-error"],
    ];
    assert_eq!(answers, expected);
}

#[test]
fn answers_functions_that_call_each_other_twice() {
    let calls: String = (0..40)
        .map(|n| format!("f{n}() {{ f{0}; f{0}; }}; ", n + 1))
        .collect();
    let answers = check_answers(vec![
        calls + "f40() { rm -rf x; }; f0",
        "f() { f; f; }; f".to_owned(),
    ]);
    assert!(answers[0].contains(&"rm-recursive-force"), "{answers:?}");
    assert!(answers[1].is_empty(), "{answers:?}");
}

#[test]
fn answers_values_that_double() {
    let texts = [
        "x=aaaaaaaaaaaaaaaa; ".to_owned() + &"x=$x$x; ".repeat(64) + "echo $x",
        "x='a '; ".to_owned() + &"x+=$x; ".repeat(64) + "echo $x",
        "$a='aaaaaaaa'; ".to_owned() + &"$a=\"$a$a\"; ".repeat(64),
        "set a=aaaa\n".to_owned() + &"set a=%a%%a%\n".repeat(64),
        "f0() { :; }; ".to_owned()
            + &(1..60)
                .map(|n| format!("f{n}() {{ f{} \"$@\" \"$@\"; }}; ", n - 1))
                .collect::<String>()
            + "f59 a b",
        "{a,b}".repeat(64),
    ];
    check_answers(texts.to_vec());
}

/// What scripts are made of, in no order.
const FRAGMENTS: &[&str] = &[
    "rm",
    " -rf ",
    "x",
    "$(",
    ")",
    "`",
    "\"",
    "'",
    "\\",
    "\n",
    "<<E",
    "E\n",
    "{",
    "}",
    "${",
    ":-",
    "[[",
    "]]",
    " ((",
    "))",
    "if ",
    "then ",
    "fi",
    "case ",
    " in ",
    "esac",
    ";;",
    ";",
    "&",
    "|",
    "&&",
    "<",
    ">",
    "9",
    "99999999999",
    "~",
    "*",
    "é",
    "\u{10FFFF}",
    "\0",
    "$",
    "@",
    "#",
    "f()",
    "=",
    "eval ",
    "bash -c ",
    "function ",
    "coproc ",
    "!",
    "time ",
    "$'",
    "\\x",
    "$\"",
    "%",
    "^",
    "/s",
    "<#",
    "#>",
    "@'",
    "'@",
    "-Recurse",
    "select ",
];

#[test]
fn answers_shuffled_fragments() {
    // A generator of our own, so that each run tries the same texts.
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed >> 33).expect("31 bits fit") % below
    };
    let texts = (0..20_000)
        .map(|_| {
            (0..1 + next(24))
                .map(|_| FRAGMENTS[next(FRAGMENTS.len())])
                .collect()
        })
        .collect();
    check_answers(texts);
}
