/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One form for what has many spellings, so that rules and resources compare as
 * bytes: absolute paths, hosts, and the words of a command.
 */
#ifndef PERMISSION_RULES_FORM_H
#define PERMISSION_RULES_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "authority/names/path.h"
#include "base/str.h"

/*
 * An absolute path as the components below "/", which is "" itself: `/a//./b/` is `a/b`. The
 * result points into `given` or `room`. False for what is not absolute, too long or has a NUL;
 * for "..", too, unless it may go back, as far as that is possible without links.
 */
bool form_path(struct str given, bool may_go_back, struct path_name *room, struct str *out_path);

enum {
    FORM_HOST_MAX_BYTES = 253,
    FORM_LABEL_MAX_BYTES = 63,
    FORM_WORD_MAX_BYTES = 4096,
};

struct form_host {
    char text[FORM_HOST_MAX_BYTES + 3];
    size_t len;
    bool is_address; /* no domain: it has no labels */
};

/*
 * A host in lower case, without the dot at the end and without a port; addresses as the system
 * writes them, whatever way they were written in (0x7f.1 is 127.0.0.1), those of IPv6 in brackets.
 * False for what is none: an empty label, other characters than those of host names (names in
 * other scripts come as xn--...), a number that is no address.
 */
bool form_host(struct str given, struct form_host *out_host);

/*
 * Nothing but one program and its words: nothing by which a shell chains, redirects or substitutes,
 * quoted or not.
 */
bool form_is_plain_command(struct str command);

/*
 * A plain command in which bash may evaluate what its words come to, and run what stands in the
 * subscript of a name: in `$[…]`, and in what builtins take for the name of a variable or for a
 * sum. It may find too much, and counts only against what allows.
 */
bool form_evaluates(struct str command);

/*
 * The words of a command. Plainly: cut at blanks, bytes as they are. Loosely, for what may find too
 * much and never too little: without quotes and backslashes, lines that a backslash joins as one,
 * cut at operators of a shell too; a word behind such an operator begins a command of its own.
 */
struct form_words {
    struct str rest;
    bool is_loose;
    bool is_first;
    /* Of the word that was read last, loosely: */
    bool begins_command;
    bool is_redirected; /* it is the target of a redirection, or the number before one */
    char room[FORM_WORD_MAX_BYTES];
};

void form_words_init(struct form_words *words, struct str command, bool is_loose);

/* False at the end. A loose word that does not fit the room is cut, and so equals none of a rule.
 */
bool form_words_next(struct form_words *words, struct str *out_word);

/*
 * The name of a program as a loose word has it: an absolute path without empty components, "." and
 * "..", as far as the room holds it; all else as it is.
 */
struct str form_program(struct str word, struct path_name *room);

#endif
