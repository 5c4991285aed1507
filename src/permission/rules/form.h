/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normal forms, so that rules and resources can be compared as bytes: absolute paths, hosts, and
 * the words of a command.
 */
#ifndef PERMISSION_RULES_FORM_H
#define PERMISSION_RULES_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "authority/names/path.h"
#include "base/str.h"

/*
 * Normalises an absolute path to the components below "/", which is "" itself: `/a//./b/` is `a/b`.
 * The result points into `given` or `room`. False if it is not absolute, too long or has a NUL;
 * also for "..", unless `may_go_back` resolves it, as far as that is possible without links.
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
    bool is_address; /* not a domain: it has no labels */
};

/*
 * Normalises a host: lower case, without a final dot and without a port; addresses as the system
 * writes them, in whatever notation they came (0x7f.1 is 127.0.0.1), IPv6 in brackets. False if it
 * is no host: an empty label, characters not allowed in host names (international names come as
 * xn--...), a number that is no address.
 */
bool form_host(struct str given, struct form_host *out_host);

/*
 * Whether the command is just one program and its words, without anything by which a shell chains,
 * redirects or substitutes, quoted or not.
 */
bool form_is_plain_command(struct str command);

/*
 * Whether bash may evaluate the words of a plain command, and run what is in the subscript of a
 * name: in `$[…]`, and in what builtins take as a variable name or an arithmetic expression. May be
 * true too often; it only counts against allowing.
 */
bool form_evaluates(struct str command);

/* "screenshot", "mouse-keyboard", or "*" for both. */
bool form_screen(struct str resource);

/*
 * The words of a command. Plain: split at blanks, bytes unchanged. Loose, for checks that may find
 * too much but never too little: without quotes and backslashes, lines joined by a backslash as
 * one, split at shell operators too; a word after such an operator begins a new command.
 */
struct form_words {
    struct str rest;
    bool is_loose;
    bool is_first;
    /* About the last loose word: */
    bool begins_command;
    bool is_redirected; /* target of a redirection, or the number before one */
    char room[FORM_WORD_MAX_BYTES];
};

void form_words_init(struct form_words *words, struct str command, bool is_loose);

/*
 * False at the end. A loose word that does not fit into `room` is cut, and so equals no word of a
 * rule.
 */
bool form_words_next(struct form_words *words, struct str *out_word);

/*
 * The program's name in a loose word: normalises an absolute path (no empty components, "." and
 * ".."), as far as it fits into `room`; leaves everything else unchanged.
 */
struct str form_program(struct str word, struct path_name *room);

#endif
