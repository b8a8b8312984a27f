//! Deleting recursively or by force (P01 to P04).

use super::{EVERY_DIALECT, Row, Subcommand, Test};
use crate::finding::{Effect, Rule};
use crate::invocation::Dialect;
use crate::options::{Grammar, Style};

static RM: Rule = Rule {
    id: "rm-recursive-force",
    effect: Effect::DeletesForcibly,
    specificity: 10,
    english: "Deletes files recursively or by force",
    chinese: "递归或强制删除文件",
};

/// The rule of `Remove-Item`, which expressions such as `[IO.Directory]::Delete` fall under too.
pub(crate) static REMOVE_ITEM_RULE: Rule = Rule {
    id: "remove-item-force",
    effect: Effect::DeletesForcibly,
    specificity: 11,
    english: "Deletes items recursively or by force (PowerShell)",
    chinese: "递归或强制删除项目（PowerShell）",
};

static DEL: Rule = Rule {
    id: "cmd-del-force",
    effect: Effect::DeletesForcibly,
    specificity: 11,
    english: "Deletes files in all subfolders, by force or without asking (cmd)",
    chinese: "在所有子目录中、强制或不经确认地删除文件（cmd）",
};

static RMDIR: Rule = Rule {
    id: "cmd-rmdir-recursive",
    effect: Effect::DeletesForcibly,
    specificity: 11,
    english: "Deletes a folder and all it holds (cmd)",
    chinese: "删除目录及其全部内容（cmd）",
};

/// The parameters of `Remove-Item`, the common ones included.
pub(crate) static REMOVE_ITEM: Grammar = Grammar {
    style: Style::PowerShell,
    short_values: "",
    long_values: &[
        "Filter",
        "Include",
        "Exclude",
        "Credential",
        "Stream",
        "ErrorAction",
        "ea",
        "WarningAction",
        "wa",
        "InformationAction",
        "infa",
        "ProgressAction",
        "proga",
        "ErrorVariable",
        "ev",
        "WarningVariable",
        "wv",
        "InformationVariable",
        "iv",
        "OutVariable",
        "ov",
        "OutBuffer",
        "ob",
        "PipelineVariable",
        "pv",
    ],
    longs: &[
        "Recurse",
        "Force",
        "WhatIf",
        "wi",
        "Confirm",
        "cf",
        "Verbose",
        "vb",
        "Debug",
        "db",
        "UseTransaction",
    ],
    operand_values: &["Path", "LiteralPath", "PSPath", "LP"],
};

static RSYNC: Grammar = Grammar::GNU.values(
    "efTBM",
    &[
        "rsh",
        "filter",
        "exclude",
        "include",
        "files-from",
        "temp-dir",
    ],
);
pub(super) static GIT: Grammar = Grammar::LEADING.values(
    "Cc",
    &[
        "git-dir",
        "work-tree",
        "namespace",
        "super-prefix",
        "config-env",
    ],
);

pub(super) static ROWS: &[Row] = &[
    Row {
        rule: &RM,
        programs: &["rm", "grm"],
        dialects: EVERY_DIALECT,
        subcommand: None,
        grammar: &Grammar::GNU,
        when: Test::Any(&[
            Test::Option(&["r", "R", "f", "recursive", "force"]),
            Test::OpenEnded,
        ]),
        unless: Test::Option(&["help", "version"]),
        hidden_option_asks: true,
        temp_exempt: true,
    },
    Row {
        rule: &RM,
        programs: &["git"],
        dialects: EVERY_DIALECT,
        subcommand: Some(Subcommand {
            before: &GIT,
            names: &["rm"],
        }),
        grammar: &Grammar::GNU,
        when: Test::Any(&[Test::Option(&["r", "f", "force"]), Test::OpenEnded]),
        unless: Test::Option(&["cached", "n", "dry-run", "h", "help"]),
        hidden_option_asks: true,
        temp_exempt: false,
    },
    Row {
        rule: &RM,
        programs: &["find", "gfind", "bfs"],
        dialects: &[Dialect::Bash, Dialect::PowerShell],
        subcommand: None,
        grammar: &Grammar::FIND,
        when: Test::Option(&["delete"]),
        unless: Test::Option(&["help", "version"]),
        hidden_option_asks: false,
        temp_exempt: true,
    },
    Row {
        rule: &RM,
        programs: &["rsync"],
        dialects: EVERY_DIALECT,
        subcommand: None,
        grammar: &RSYNC,
        when: Test::Option(&[
            "del",
            "delete",
            "delete-before",
            "delete-during",
            "delete-delay",
            "delete-after",
            "delete-excluded",
            "delete-missing-args",
            "remove-source-files",
        ]),
        unless: Test::Option(&["n", "dry-run", "list-only", "help", "version"]),
        hidden_option_asks: false,
        temp_exempt: true,
    },
    Row {
        rule: &REMOVE_ITEM_RULE,
        programs: &["remove-item", "ri", "rm", "del", "erase", "rd", "rmdir"],
        dialects: &[Dialect::PowerShell],
        subcommand: None,
        grammar: &REMOVE_ITEM,
        when: Test::Any(&[Test::Option(&["Recurse", "Force"]), Test::ListedTree]),
        unless: Test::Option(&["WhatIf", "wi", "?"]),
        hidden_option_asks: true,
        temp_exempt: true,
    },
    Row {
        rule: &DEL,
        programs: &["del", "erase"],
        dialects: &[Dialect::Cmd],
        subcommand: None,
        grammar: &Grammar::SLASH,
        when: Test::Any(&[Test::Option(&["s", "q", "f"]), Test::OpenEnded]),
        unless: Test::Option(&["?"]),
        hidden_option_asks: true,
        temp_exempt: true,
    },
    Row {
        rule: &RMDIR,
        programs: &["rd", "rmdir"],
        dialects: &[Dialect::Cmd],
        subcommand: None,
        grammar: &Grammar::SLASH,
        when: Test::Option(&["s"]),
        unless: Test::Option(&["?"]),
        hidden_option_asks: true,
        temp_exempt: true,
    },
];
