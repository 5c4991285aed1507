/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options/complete.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* A command and its parents. */
struct level {
    const struct option_command *command;
    const struct level *above;
};

/* The first error is kept, and only the end is checked. */
struct script {
    struct buf *out;
    int error;
};

__attribute__((format(printf, 2, 3))) static void put(struct script *s, const char *format, ...)
{
    va_list args;
    int r;

    va_start(args, format);
    r = s->error < 0 ? s->error : buf_vprintf(s->out, format, args);
    va_end(args);
    s->error = r;
}

/* For the inside of single quotes, with a backslash before each of `specials`. */
static void put_quoted(struct script *s, const char *text, const char *specials)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            put(s, "'\\''"); /* all three shells join what touches */
        else
            put(s, "%s%c", strchr(specials, *text) != NULL ? "\\" : "", *text);
    }
}

static void put_path(struct script *s, const struct level *level)
{
    if (level->above != NULL) {
        put_path(s, level->above);
        put(s, " ");
    }
    put(s, "%s", level->command->name);
}

/* A function's name: the path with '_' for all invalid characters. */
static void put_function(struct script *s, const struct level *level)
{
    if (level->above != NULL)
        put_function(s, level->above);
    put(s, "_");
    for (const char *c = level->command->name; *c != '\0'; c++)
        put(s, "%c", (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') ? *c : '_');
}

static const struct level *program_of(const struct level *level)
{
    while (level->above != NULL)
        level = level->above;
    return level;
}

/* The fixed part of a script, with the program for %p and its function for %f. */
static void put_template(struct script *s, const struct level *program, const char *text)
{
    for (; *text != '\0'; text++) {
        if (text[0] != '%' || (text[1] != 'p' && text[1] != 'f'))
            put(s, "%c", *text);
        else if (*++text == 'p')
            put(s, "%s", program->command->name);
        else
            put_function(s, program);
    }
}

typedef void row_fn(struct script *s, const struct level *level, const struct option *row);
typedef void level_fn(struct script *s, const struct level *level);

/* The options that apply to a command: its own and those of its parents. */
static void each_row(struct script *s, const struct level *level, row_fn *fn)
{
    for (const struct level *l = level; l != NULL; l = l->above)
        for (size_t i = 0; i < l->command->option_count; i++)
            fn(s, level, &l->command->options[i]);
}

static void each_level(struct script *s, const struct level *level, level_fn *fn)
{
    fn(s, level);
    for (size_t i = 0; i < level->command->command_count; i++)
        each_level(s, &(struct level){&level->command->commands[i], level}, fn);
}

static void put_choices(struct script *s, const char *const *choices, char separator)
{
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (i > 0)
            put(s, "%c", separator);
        put(s, "%s", choices[i]);
    }
}

/* The spellings of an option: "--name", "--no-name" if useful, "--alias", "-x". */
enum { SPELLINGS = 4, SPELLING_BYTES = OPTION_NAME_BYTES };

static size_t spell(const struct option *row, char out_words[SPELLINGS][SPELLING_BYTES])
{
    size_t count = 0;

    snprintf(out_words[count++], SPELLING_BYTES, "--%s", row->name);
    if (option_is_on_by_default(row))
        snprintf(out_words[count++], SPELLING_BYTES, "--no-%s", row->name);
    if (row->alias != NULL)
        snprintf(out_words[count++], SPELLING_BYTES, "--%s", row->alias);
    if (row->letter != '\0')
        snprintf(out_words[count++], SPELLING_BYTES, "-%c", row->letter);
    return count;
}

/* Bash: a table as text, and one function that follows the words along it. */

/* "@dir", "@file", "@text", "@names:KIND", or the choices with commas. */
static void put_bash_kind(struct script *s, enum option_type type, const char *const *choices,
                          const char *names)
{
    if (type == OPTION_CHOICE)
        put_choices(s, choices, ',');
    else if (names != NULL)
        put(s, "@names:%s", names);
    else
        put(s, "%s", type == OPTION_DIR ? "@dir" : type == OPTION_PATH ? "@file" : "@text");
}

static void put_bash_names(struct script *s, const struct level *level, const struct option *row)
{
    char words[SPELLINGS][SPELLING_BYTES];
    size_t count = spell(row, words);

    (void)level;
    for (size_t i = 0; i < count; i++)
        put(s, " %s", words[i]);
}

static void put_bash_valued(struct script *s, const struct level *level, const struct option *row)
{
    char words[SPELLINGS][SPELLING_BYTES];
    size_t count = row->type != OPTION_SWITCH ? spell(row, words) : 0;

    (void)level;
    for (size_t i = 0; i < count; i++) {
        put(s, " %s=", words[i]);
        put_bash_kind(s, row->type, row->choices, NULL);
    }
}

static void put_bash_level(struct script *s, const struct level *level)
{
    const struct option_command *command = level->command;

    put(s, "    '");
    put_path(s, level);
    put(s, "')\n        flags='");
    each_row(s, level, put_bash_names);
    put(s, "'\n        valued='");
    each_row(s, level, put_bash_valued);
    put(s, "'\n        commands='");
    for (size_t i = 0; i < command->command_count; i++)
        put(s, " %s", command->commands[i].name);
    put(s, "'\n        aliases='");
    for (size_t i = 0; i < command->command_count; i++)
        if (command->commands[i].alias != NULL)
            put(s, " %s=%s", command->commands[i].alias, command->commands[i].name);
    put(s, "'\n        arguments='");
    for (size_t i = 0; i < command->argument_count; i++) {
        const struct option_argument *argument = &command->arguments[i];

        put(s, "%s", argument->is_rest ? "'\n        rest='" : " ");
        put_bash_kind(s, argument->type, argument->choices, argument->names);
    }
    put(s, "'\n        ;;\n");
}

/* clang-format off */
static const char bash_head[] =
    "# bash completion for %p, generated from its option tables.\n"
    "# shellcheck shell=bash\n"
    "%f_table()\n"
    "{\n"
    "    rest=''\n"
    "    case $1 in\n";
static const char bash_tail[] =
    "    esac\n"
    "}\n"
    "\n"
    "%f_names()\n"
    "{\n"
    "    local name\n"
    "    command %p completions --names \"$1\" 2>/dev/null |\n"
    "        while read -r name _; do\n"
    "            printf '%s\\n' \"$name\"\n"
    "        done\n"
    "}\n"
    "\n"
    "%f_kind()\n"
    "{\n"
    "    local pair\n"
    "    kind=''\n"
    "    for pair in $2; do\n"
    "        if [[ ${pair%%=*} == \"$1\" ]]; then\n"
    "            kind=${pair#*=}\n"
    "        fi\n"
    "    done\n"
    "}\n"
    "\n"
    "%f()\n"
    "{\n"
    "    local flags valued commands aliases arguments rest command=%p kind='' before='' ended='' i word\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} IFS=$' \\t\\n'\n"
    "    local -i place=0\n"
    "    local -a words\n"
    "\n"
    "    COMPREPLY=()\n"
    "    %f_table \"$command\"\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $word == = ]]; then\n"
    "            kind=${kind:-@text}\n"
    "        elif [[ -n $kind ]]; then\n"
    "            kind=''\n"
    "        elif [[ -z $ended && $word == -- ]]; then\n"
    "            ended=1\n"
    "        elif [[ -z $ended && $word == -?* ]]; then\n"
    "            %f_kind \"$word\" \"$valued\"\n"
    "        else\n"
    "            %f_kind \"$word\" \"$aliases\"\n"
    "            word=${kind:-$word}\n"
    "            kind=''\n"
    "            if [[ \"$commands \" == *\" $word \"* ]]; then\n"
    "                command+=\" $word\"\n"
    "                %f_table \"$command\"\n"
    "            else\n"
    "                place+=1\n"
    "            fi\n"
    "        fi\n"
    "    done\n"
    "    if [[ $current == = ]]; then\n"
    "        kind=${kind:-@text}\n"
    "        current=''\n"
    "    elif [[ -z $kind$ended && $current == --*=* ]]; then\n"
    "        before=${current%%=*}=\n"
    "        current=${current#*=}\n"
    "        %f_kind \"${before%=}\" \"$valued\"\n"
    "    elif [[ -z $kind$ended && $current == -* ]]; then\n"
    "        kind=${flags// /,}\n"
    "    elif [[ -z $kind && -n $commands ]]; then\n"
    "        kind=${commands// /,}\n"
    "    elif [[ -z $kind ]]; then\n"
    "        read -r -a words <<<\"$arguments\"\n"
    "        kind=${words[place]-$rest}\n"
    "    fi\n"
    "    case $kind in\n"
    "    @text) ;;\n"
    "    @names:*)\n"
    "        mapfile -t words < <(%f_names \"${kind#*:}\")\n"
    "        for word in \"${words[@]}\"; do\n"
    "            if [[ $word == \"$current\"* ]]; then\n"
    "                printf -v word %q \"$word\"\n"
    "                COMPREPLY+=(\"$word\")\n"
    "            fi\n"
    "        done\n"
    "        ;;\n"
    "    @dir | @file)\n"
    "        compopt -o filenames 2>/dev/null || :\n"
    "        mapfile -t COMPREPLY < <(compgen -\"${kind:1:1}\" -- \"$current\")\n"
    "        COMPREPLY=(\"${COMPREPLY[@]/#/$before}\")\n"
    "        ;;\n"
    "    *)\n"
    "        IFS=, read -r -a words <<<\"$kind\"\n"
    "        for word in \"${words[@]}\"; do\n"
    "            if [[ -n $word && $word == \"$current\"* ]]; then\n"
    "                COMPREPLY+=(\"$before$word\")\n"
    "            fi\n"
    "        done\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "complete -F %f %p\n";
/* clang-format on */

/* Zsh: one function per command, for _arguments. */

/* clang-format off */
static const char zsh_head[] =
    "#compdef %p\n"
    "# Generated from the option tables of %p.\n"
    "\n"
    "%f_names()\n"
    "{\n"
    "    local -a names\n"
    "    names=(${(f)\"$(command %p completions --names $1 2>/dev/null)\"})\n"
    "    compadd -- ${names%%[[:blank:]]*}\n"
    "}\n"
    "\n";
/* clang-format on */

static void put_zsh_value(struct script *s, const struct level *level, const char *name,
                          enum option_type type, const char *const *choices, const char *names)
{
    put(s, ":");
    put_quoted(s, name, ":\\");
    put(s, ":");
    if (type == OPTION_CHOICE) {
        put(s, "(");
        put_choices(s, choices, ' ');
        put(s, ")");
    } else if (names != NULL) {
        put(s, " ");
        put_function(s, program_of(level));
        put(s, "_names %s", names);
    } else {
        put(s, "%s", type == OPTION_DIR ? "_files -/" : type == OPTION_PATH ? "_files" : " ");
    }
}

static void put_zsh_row(struct script *s, const struct level *level, const struct option *row)
{
    char words[SPELLINGS][SPELLING_BYTES];
    size_t count = spell(row, words);

    for (size_t i = 0; i < count; i++) {
        put(s, " \\\n        '%s%s", row->type == OPTION_LIST ? "*" : "", words[i]);
        if (row->type != OPTION_SWITCH)
            put(s, "%s", words[i][1] == '-' ? "=" : "+");
        put(s, "[");
        put_quoted(s, row->help, "[]\\");
        put(s, "]");
        if (row->type != OPTION_SWITCH)
            put_zsh_value(s, level, option_placeholder(row), row->type, row->choices, NULL);
        put(s, "'");
    }
}

/* The subcommands, in _describe and then in the choice of the next function. */
static void put_zsh_commands(struct script *s, const struct level *level)
{
    const struct option_command *command = level->command;

    put(s, " \\\n        '1: :->command' \\\n        '*:: :->rest' && return\n"
           "    case $state in\n    command)\n        commands=(\n");
    for (size_t i = 0; i < command->command_count; i++) {
        put(s, "            '%s:", command->commands[i].name);
        put_quoted(s, command->commands[i].summary, "\\");
        put(s, "'\n");
    }
    put(s, "        )\n        _describe command commands\n        ;;\n"
           "    rest)\n        case $words[1] in\n");
    for (size_t i = 0; i < command->command_count; i++) {
        put(s, "        %s%s%s) ", command->commands[i].name,
            command->commands[i].alias != NULL ? "|" : "",
            command->commands[i].alias != NULL ? command->commands[i].alias : "");
        put_function(s, &(struct level){&command->commands[i], level});
        put(s, " ;;\n");
    }
    put(s, "        esac\n        ;;\n    esac\n");
}

static void put_zsh_level(struct script *s, const struct level *level)
{
    const struct option_command *command = level->command;

    put_function(s, level);
    put(s, "()\n{\n    local curcontext=$curcontext state line\n    local -a commands\n"
           "    typeset -A opt_args\n\n    _arguments -C -s -S");
    each_row(s, level, put_zsh_row);
    for (size_t i = 0; i < command->argument_count; i++) {
        const struct option_argument *argument = &command->arguments[i];

        if (argument->is_rest)
            put(s, " \\\n        '*");
        else
            put(s, " \\\n        '%zu%s", i + 1, argument->is_optional ? ":" : "");
        put_zsh_value(s, level, argument->name, argument->type, argument->choices, argument->names);
        put(s, "'");
    }
    if (command->command_count > 0)
        put_zsh_commands(s, level);
    else
        put(s, "\n");
    put(s, "}\n\n");
}

/* Fish: a condition that follows the words, and a line for each option of each command. */

static void put_fish_valued_row(struct script *s, const struct level *level,
                                const struct option *row)
{
    char words[SPELLINGS][SPELLING_BYTES];
    size_t count = row->type != OPTION_SWITCH ? spell(row, words) : 0;

    for (size_t i = 0; i < count; i++) {
        put(s, " '");
        put_path(s, level);
        put(s, " %s'", words[i]);
    }
}

static void put_fish_valued(struct script *s, const struct level *level)
{
    each_row(s, level, put_fish_valued_row);
}

static void put_fish_path(struct script *s, const struct level *level)
{
    put(s, " '");
    put_path(s, level);
    put(s, "'");
}

static void put_fish_alias(struct script *s, const struct level *level)
{
    if (level->command->alias == NULL)
        return;
    put(s, "            case '");
    put_path(s, level->above);
    put(s, " %s'\n                set command", level->command->alias);
    put_fish_path(s, level);
    put(s, "\n");
}

static void put_fish_line(struct script *s, const struct level *level, const char *place)
{
    const struct level *program = program_of(level);

    put(s, "complete -c %s -n '_", program->command->name);
    put_function(s, program);
    put(s, "_at \"");
    put_path(s, level);
    put(s, "\"%s'", place);
}

static void put_fish_value(struct script *s, enum option_type type, const char *const *choices)
{
    if (type == OPTION_CHOICE) {
        put(s, " -a '");
        put_choices(s, choices, ' ');
        put(s, "'");
    } else if (type == OPTION_PATH) {
        put(s, " -F");
    } else if (type == OPTION_DIR) {
        put(s, " -a '(__fish_complete_directories)'");
    }
}

static void put_fish_row(struct script *s, const struct level *level, const struct option *row)
{
    char words[SPELLINGS][SPELLING_BYTES];
    size_t count = spell(row, words);

    put_fish_line(s, level, "");
    for (size_t i = 0; i < count; i++)
        put(s, words[i][1] == '-' ? " -l %s" : " -s %s", words[i] + (words[i][1] == '-' ? 2 : 1));
    if (row->type != OPTION_SWITCH)
        put(s, "%s", row->type == OPTION_PATH ? " -r" : " -x");
    put_fish_value(s, row->type, row->choices);
    put(s, " -d '");
    put_quoted(s, row->help, "\\");
    put(s, "'\n");
}

static void put_fish_level(struct script *s, const struct level *level)
{
    const struct option_command *command = level->command;

    each_row(s, level, put_fish_row);
    for (size_t i = 0; i < command->command_count; i++) {
        put_fish_line(s, level, " -eq 1");
        put(s, " -a %s -d '", command->commands[i].name);
        put_quoted(s, command->commands[i].summary, "\\");
        put(s, "'\n");
    }
    for (size_t i = 0; i < command->argument_count; i++) {
        const struct option_argument *argument = &command->arguments[i];
        char place[32];

        if (argument->type == OPTION_TEXT && argument->names == NULL)
            continue;
        snprintf(place, sizeof(place), " %s %zu", argument->is_rest ? "-ge" : "-eq", i + 1);
        put_fish_line(s, level, place);
        put_fish_value(s, argument->type, argument->choices);
        if (argument->names != NULL)
            put(s,
                " -a '(command %s completions --names %s 2>/dev/null |"
                " string replace -r \"\\\\s.*\" \"\")'",
                program_of(level)->command->name, argument->names);
        put(s, "\n");
    }
}

/* clang-format off */
static const char fish_head[] =
    "# fish completion for %p, generated from its option tables.\n"
    "function _%f_at -d 'In command $argv[1]; is the place of the argument as $argv[2..] says?'\n"
    "    set -l command %p\n"
    "    set -l place 1\n"
    "    set -l state words\n"
    "    for word in (commandline -opc)[2..]\n"
    "        if test $state = value\n"
    "            set state words\n"
    "            continue\n"
    "        else if test $state = ended\n"
    "            set place (math $place + 1)\n"
    "            continue\n"
    "        end\n"
    "        switch \"$command $word\"\n"
    "            case ''";
static const char fish_middle[] =
    "\n"
    "                set state value\n";
static const char fish_commands[] =
    "            case ''";
static const char fish_tail[] =
    "\n"
    "                set command \"$command $word\"\n"
    "            case '* --'\n"
    "                set state ended\n"
    "            case '* -'\n"
    "                set place (math $place + 1)\n"
    "            case '* -*'\n"
    "            case '*'\n"
    "                set place (math $place + 1)\n"
    "        end\n"
    "    end\n"
    "    test \"$command\" = \"$argv[1]\"; or return 1\n"
    "    set -q argv[2]; or return 0\n"
    "    test $place $argv[2..]\n"
    "end\n"
    "\n"
    "complete -c %p -f\n";
/* clang-format on */

int options_complete(const struct option_command *program, enum option_shell shell, struct buf *out)
{
    const struct level root = {program, NULL};
    struct script s = {.out = out};

    switch (shell) {
    case OPTION_BASH:
        put_template(&s, &root, bash_head);
        each_level(&s, &root, put_bash_level);
        put_template(&s, &root, bash_tail);
        break;
    case OPTION_ZSH:
        put_template(&s, &root, zsh_head);
        each_level(&s, &root, put_zsh_level);
        /* Either found in fpath and run for the first time, or sourced. */
        put_template(&s, &root,
                     "if [[ $funcstack[1] == %f ]]; then\n    %f \"$@\"\nelse\n"
                     "    compdef %f %p\nfi\n");
        break;
    case OPTION_FISH:
        put_template(&s, &root, fish_head);
        each_level(&s, &root, put_fish_valued);
        put_template(&s, &root, fish_middle);
        each_level(&s, &root, put_fish_alias);
        put_template(&s, &root, fish_commands);
        each_level(&s, &root, put_fish_path);
        put_template(&s, &root, fish_tail);
        each_level(&s, &root, put_fish_level);
        break;
    }
    return s.error;
}
