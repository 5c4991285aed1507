/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the web page shows of a user's machine: recent calls, open questions, and the pages that
 * wait for news. In memory only: the daemon's audit log is the record.
 */
#ifndef PROGRAMS_SERVER_BOARD_H
#define PROGRAMS_SERVER_BOARD_H

#include "base/json.h"
#include "base/jsonwrite.h"
#include "loop/loop.h"
#include "net/http/exchange.h"
#include "programs/server/machinequestion.h"

/* Who asks and calls when a user tries tools on the page: no agent may have this name. */
#define BOARD_PAGE "this page"

enum {
    BOARD_MAX_USERS = 65536,
    BOARD_MAX_CALLS = 10000,  /* of a user; older ones are forgotten */
    BOARD_ALL_CALLS = 100000, /* of all users together, the same */
    BOARD_FIRST_CALLS = 500,  /* with the state, so that a page is soon there */
    BOARD_MAX_QUESTIONS = 64, /* of a user */
    BOARD_MAX_PAGES = 32,     /* of a user */
    BOARD_QUESTION_MS = 2 * 60 * 1000,
};

struct board;

/* Below, `id` is a user, and `number` a call or a question. */
struct board_config {
    struct loop *loop;
    /* Tells the pages of a user what their machine offers now; called from the loop. */
    void (*tell_machine)(void *data, int64_t user);
    /* Tells the machine what the user answered to a question of its own. */
    void (*decide)(void *data, int64_t user, struct str question, struct str choice);
    void *data;
};

int board_new(const struct board_config *config, struct board **out_board);
/* Open questions get no answer; ends the streams. */
void board_close(struct board *board);
void board_free(struct board *board);

/* ---- pages ---- */

/* Answers with an event stream; takes ownership of the exchange. `login` is for board_sweep(). */
void board_open_stream(struct board *board, int64_t id, int64_t login, struct exchange *exchange);
/* Ends the streams whose logins are over. */
void board_sweep(struct board *board, bool (*is_good)(void *data, int64_t id, int64_t login),
                 void *data);
/* Ends them all, when a login ends; pages that are still logged in come back. */
void board_end_streams(struct board *board, int64_t id);
bool board_is_watched(struct board *board, int64_t id);
/* tell_machine() follows, if a page is open. */
void board_machine_changed(struct board *board, int64_t id);
/* Sends an event of this kind to all pages of the user. */
void board_tell(struct board *board, int64_t user, struct str kind, struct str json);
/* The member "calls" of an object: the last `most`, oldest first. */
void board_write_calls(struct board *board, int64_t id, uint64_t most, struct json_writer *json);
/* The members "questions" and "calls" of an object, of calls the last BOARD_FIRST_CALLS. */
void board_write(struct board *board, int64_t id, struct json_writer *json);

/* ---- calls ---- */

/* Returns its place among the calls of all users, 0 if it cannot be shown. */
uint64_t board_begin_call(struct board *board, int64_t id, struct str agent, struct str tool,
                          const struct json_value *arguments);
/* `result` is a CallToolResult; or NULL with the error's text. */
void board_end_call(struct board *board, uint64_t place, const struct json_value *result,
                    const char *error);

/* By this id the machine's own news of the call are found. */
void board_set_request(struct board *board, uint64_t place, struct str request);
/* What allowed or refused the call, as the machine says, and the text of that rule. */
void board_note_decision(struct board *board, int64_t id, struct str request, struct str decision,
                         struct str rule);
/* Tells the pages how far it has come; `what` may be NULL. */
void board_progress(struct board *board, uint64_t place, int64_t done, int64_t total,
                    const char *what);
/* Until it ends, the user may stop it: `stop` ends it, or returns false if it cannot now. */
typedef bool board_stop(void *data);
void board_allow_stop(struct board *board, uint64_t place, board_stop *stop, void *data);
/* ERR_NOT_FOUND if it has ended, or cannot be stopped. */
int board_stop_call(struct board *board, int64_t id, uint64_t number);

/* ---- questions ---- */

/*
 * The name of one of machine_choices; empty: nobody answered in time, and the machine is not told,
 * since to it every answer is one of the user. The question is gone.
 */
typedef void board_answered(void *data, struct str choice);
/* What the agent is told then. */
void board_unanswered(struct err *err);

/* ERR_ASK_UNAVAILABLE if no page is open or there are too many questions; else *out_id. */
int board_ask(struct board *board, int64_t id, struct str agent,
              const struct machine_question *asked, board_answered *answered, void *data,
              uint64_t *out_id);
/* `answered` is not called any more. */
void board_withdraw(struct board *board, int64_t id, uint64_t number);
/* ERR_NOT_FOUND if it was answered before, ERR_INVALID_ARGUMENT for a choice that is not offered.
 */
int board_answer(struct board *board, int64_t id, uint64_t number, struct str choice);

/*
 * A question that the machine asks in its terminal at the same time, by the name it has there.
 * Known ones are ignored, as those without choices. Who answers it first is up to the machine.
 * `client` is for whom it asks, "name@host", or empty.
 */
void board_take_question(struct board *board, int64_t id, struct str name, struct str client,
                         const struct machine_question *asked);
/* It was answered there, or is not asked any more. */
void board_close_question(struct board *board, int64_t id, struct str name, struct str by);
/* The machine is gone, and its questions with it. */
void board_drop_questions(struct board *board, int64_t id);

#endif
