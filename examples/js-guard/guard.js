// Denies `git push --force`. Exports one object for each hook of the world, with the
// names of `wit/` in camel case.

const forcedPush = /\bgit\s+push\b[^;&|]*\s(--force|-f)(?=\s|$)/;

export const guard = {
  check(call) {
    // A call has a command only if its tool executes one.
    const text = call.command()?.text ?? "";
    if (!forcedPush.test(text)) return { tag: "allow" };
    return {
      tag: "deny",
      val: {
        rules: ["no-force-push"],
        reason: "a forced push overwrites what others have pushed",
        display: [],
      },
    };
  },
};
