//! The wrappers, and how their own options are read.

use super::{Run, Wrapper};
use crate::invocation::Dialect;
use crate::options::Grammar;

pub(super) static LEADING: Grammar = Grammar::LEADING;
static SUDO: Grammar = Grammar::LEADING.values(
    "ugpCrtTUDRhac",
    &[
        "user",
        "group",
        "prompt",
        "close-from",
        "role",
        "type",
        "command-timeout",
        "other-user",
        "chdir",
        "chroot",
        "host",
    ],
);
static ENV: Grammar = Grammar::LEADING.values("uCSP", &["unset", "chdir", "split-string"]);
static TIMED: Grammar = Grammar::LEADING.values(
    "ksnpPf",
    &["kill-after", "signal", "adjustment", "format", "output"],
);
static BUFFERED: Grammar = Grammar::LEADING.values(
    "ioecpn",
    &["input", "output", "error", "class", "classdata"],
);
static EXEC: Grammar = Grammar::LEADING.values("a", &[]);
static XARGS: Grammar = Grammar::LEADING.values(
    "InPLsdaE",
    &[
        "max-args",
        "max-procs",
        "max-lines",
        "max-chars",
        "delimiter",
        "arg-file",
        "replace",
        "process-slot-var",
    ],
);
static PARALLEL: Grammar = Grammar::LEADING.values(
    "jNnILdaPsS",
    &[
        "jobs",
        "max-args",
        "max-replace-args",
        "delay",
        "retries",
        "timeout",
        "joblog",
        "colsep",
        "sshlogin",
    ],
);
static WATCH: Grammar = Grammar::LEADING.values("nq", &["interval", "equexit"]);
static SSH: Grammar = Grammar::LEADING.values("BbcDEeFIiJLlmOopQRSWw", &[]);
static CONTAINER: Grammar = Grammar::LEADING.values(
    "euwHlcn",
    &[
        "env",
        "env-file",
        "user",
        "workdir",
        "detach-keys",
        "host",
        "context",
        "config",
        "log-level",
        "index",
    ],
);
static KUBECTL: Grammar = Grammar::GNU.values(
    "ncsf",
    &["namespace", "container", "context", "kubeconfig", "cluster"],
);
static TEXT_OPTION: Grammar = Grammar::GNU.values(
    "cgGsuwTEptSeoOI",
    &[
        "command",
        "group",
        "shell",
        "user",
        "whitelist-environment",
        "timeout",
        "conflict-exit-code",
        "log-out",
    ],
);
static NAMESPACE: Grammar = Grammar::LEADING.values(
    "tSGERwpOaeoPuc",
    &[
        "target",
        "setuid",
        "setgid",
        "root",
        "wd",
        "propagation",
        "trace",
        "output",
        "unit",
        "property",
    ],
);

const fn plain(
    programs: &'static [&'static str],
    options: &'static Grammar,
    skip: usize,
) -> Wrapper {
    Wrapper {
        programs,
        subcommand: &[],
        options,
        skip,
        unless: &[],
        run: Run::Command,
    }
}

const fn special(
    programs: &'static [&'static str],
    options: &'static Grammar,
    run: Run,
) -> Wrapper {
    Wrapper {
        programs,
        subcommand: &[],
        options,
        skip: 0,
        unless: &[],
        run,
    }
}

const fn below(
    programs: &'static [&'static str],
    subcommand: &'static [&'static str],
    options: &'static Grammar,
    skip: usize,
) -> Wrapper {
    Wrapper {
        programs,
        subcommand,
        options,
        skip,
        unless: &[],
        run: Run::Command,
    }
}

pub(super) static WRAPPERS: &[Wrapper] = &[
    Wrapper {
        unless: &["v", "V"],
        ..plain(&["command"], &LEADING, 0)
    },
    Wrapper {
        run: Run::CodeOption(&["c"]),
        ..plain(&["su", "runuser", "script"], &TEXT_OPTION, 0)
    },
    Wrapper {
        run: Run::CodeOption(&["c", "command"]),
        ..plain(&["flock"], &TEXT_OPTION, 1)
    },
    plain(
        &[
            "builtin",
            "nohup",
            "setsid",
            "busybox",
            "toybox",
            "unbuffer",
            "fakeroot",
            "eatmydata",
            "catchsegv",
            "torsocks",
            "proxychains",
            "proxychains4",
            "dbus-run-session",
            "noglob",
            "nocorrect",
            "-",
            "coproc",
            "call",
            "chronic",
            "doit",
        ],
        &LEADING,
        0,
    ),
    plain(&["exec"], &EXEC, 0),
    Wrapper {
        run: Run::Env,
        ..plain(&["env", "genv"], &ENV, 0)
    },
    Wrapper {
        run: Run::Env,
        ..plain(&["sudo", "doas", "pkexec", "run0", "gsudo"], &SUDO, 0)
    },
    plain(&["nice", "gnice", "time", "gtime"], &TIMED, 0),
    plain(&["timeout", "gtimeout"], &TIMED, 1),
    plain(&["stdbuf", "gstdbuf", "ionice"], &BUFFERED, 0),
    plain(&["taskset", "chrt", "setarch"], &LEADING, 1),
    plain(
        &[
            "unshare",
            "nsenter",
            "strace",
            "ltrace",
            "systemd-run",
            "caffeinate",
            "xvfb-run",
            "bwrap",
            "firejail",
        ],
        &NAMESPACE,
        0,
    ),
    plain(&["chroot"], &NAMESPACE, 1),
    special(&["xargs", "gxargs"], &XARGS, Run::Xargs),
    special(&["parallel"], &PARALLEL, Run::OpenEnded),
    special(&["watch"], &WATCH, Run::Code(Dialect::Bash)),
    Wrapper {
        skip: 1,
        ..special(&["ssh"], &SSH, Run::Code(Dialect::Bash))
    },
    special(&["eval"], &LEADING, Run::Code(Dialect::Bash)),
    special(
        &["iex", "invoke-expression"],
        &LEADING,
        Run::Code(Dialect::PowerShell),
    ),
    special(
        &["find", "gfind", "bfs"],
        &LEADING,
        Run::Exec(&["-exec", "-execdir", "-ok", "-okdir"]),
    ),
    special(
        &["fd", "fdfind"],
        &LEADING,
        Run::Exec(&["-x", "-X", "--exec", "--exec-batch"]),
    ),
    below(&["docker", "podman", "nerdctl"], &["exec"], &CONTAINER, 1),
    below(
        &["docker", "podman", "nerdctl"],
        &["container", "exec"],
        &CONTAINER,
        1,
    ),
    below(
        &["docker", "podman", "nerdctl"],
        &["compose", "exec"],
        &CONTAINER,
        1,
    ),
    below(
        &["docker-compose", "podman-compose", "lxc"],
        &["exec"],
        &CONTAINER,
        1,
    ),
    below(&["kubectl", "oc", "k"], &["exec"], &KUBECTL, 1),
    below(
        &[
            "uv", "poetry", "pipenv", "hatch", "pdm", "rye", "mise", "direnv",
        ],
        &["run"],
        &LEADING,
        0,
    ),
    below(
        &["bundle", "pnpm", "npm", "rbenv", "pyenv", "opam"],
        &["exec"],
        &LEADING,
        0,
    ),
    special(&["wsl"], &LEADING, Run::Command),
    special(
        &[
            "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "rbash", "fish",
        ],
        &LEADING,
        Run::Shell,
    ),
    special(&["pwsh", "powershell"], &LEADING, Run::PowerShell),
    special(&["cmd"], &LEADING, Run::Cmd),
    special(&["git"], &LEADING, Run::Git),
];
