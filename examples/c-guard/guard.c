// Denies `git push --force`. The names come from bindings/guard_plugin.h, which
// `damper plugin bindings` makes.

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/guard_plugin.h"

static bool force_pushes(char *command) {
  enum { ELSEWHERE, GIT, PUSH } at = ELSEWHERE;
  for (char *word = strtok(command, " \t\n"); word; word = strtok(NULL, " \t\n")) {
    if (at == PUSH && (!strcmp(word, "--force") || !strcmp(word, "-f")))
      return true;
    if (!strcmp(word, "git"))
      at = GIT;
    else if (at == GIT && !strcmp(word, "push"))
      at = PUSH;
    else if (at == GIT || strpbrk(word, ";&|"))
      at = ELSEWHERE;
  }
  return false;
}

// Strings of the contract carry their length and end with no zero.
static bool is_objectionable(damper_plugin_types_command_t *command) {
  char *text = calloc(command->text.len + 1, 1);
  if (!text)
    abort(); // A trap counts as the row's `on_failure` says, by default as an ask.
  memcpy(text, command->text.ptr, command->text.len);
  bool forced = force_pushes(text);
  free(text);
  return forced;
}

void exports_damper_plugin_guard_check(exports_damper_plugin_guard_borrow_call_t call,
                                       exports_damper_plugin_guard_verdict_t *verdict) {
  memset(verdict, 0, sizeof *verdict); // That is `allow`.
  damper_plugin_types_command_t command;
  if (!damper_plugin_types_method_call_command(call, &command) || !is_objectionable(&command))
    return;
  verdict->tag = EXPORTS_DAMPER_PLUGIN_GUARD_VERDICT_DENY;
  exports_damper_plugin_guard_objection_t *objection = &verdict->val.deny;
  // The bindings free the answer, so what is in it must come from malloc.
  objection->rules.ptr = calloc(1, sizeof *objection->rules.ptr);
  if (!objection->rules.ptr)
    abort();
  objection->rules.len = 1;
  guard_plugin_string_dup(&objection->rules.ptr[0], "no-force-push");
  guard_plugin_string_dup(&objection->reason, "a forced push overwrites what others have pushed");
}
