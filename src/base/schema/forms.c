/* SPDX-License-Identifier: Apache-2.0 */
/* allOf, anyOf, oneOf and not. */
#include "base/schema/check_internal.h"

#include <assert.h>

/* Only the result: 0, ERR_SCHEMA_MISMATCH with c->failure, or a limit exceeded. */
static int try_form(struct schema_checking *c, const struct schema *schema,
                    const struct json_value *value, const struct schema_path *path)
{
    bool was_silent = c->is_silent;
    int r;

    c->is_silent = true;
    r = schema_check_value(c, schema, value, path);
    c->is_silent = was_silent;
    return r;
}

/* How near a value is to a form, from far to near. */
enum nearness {
    NEAR_NOTHING,
    NEAR_TYPE,    /* another type altogether */
    NEAR_TAG,     /* another form, by its own account */
    NEAR_MISSING, /* it lacks a field */
    NEAR_INSIDE,  /* something that is there is wrong */
    NEAR_TAGGED,  /* a const or enum says that this form is meant */
};

/* The nearest of the forms that do not fit. */
struct nearest {
    enum nearness nearness;
    struct schema_failure failure;
    size_t index;
    bool is_shared; /* by another form with another complaint */
};

enum comparison { FARTHER, AS_NEAR, NEARER };

static enum nearness nearness_of(const struct schema_failure *failure,
                                 const struct schema_path *path)
{
    unsigned below = failure->depth - schema_depth_of(path);

    if (failure->rule == SCHEMA_RULE_TYPE && below == 0)
        return NEAR_TYPE;
    if ((failure->rule == SCHEMA_RULE_TAG || failure->rule == SCHEMA_RULE_FORM) && below == 0)
        return NEAR_TAG;
    if (failure->rule == SCHEMA_RULE_REQUIRED && below == 0)
        return NEAR_MISSING;
    return NEAR_INSIDE;
}

static bool is_same_complaint(const struct schema_failure *a, const struct schema_failure *b)
{
    return a->rule == b->rule && a->value == b->value && str_eq(a->name, b->name) &&
           a->types == b->types && a->schema == b->schema;
}

static enum comparison SCHEMA_ASIDE consider(struct nearest *best, enum nearness nearness,
                                             const struct schema_failure *failure, size_t index)
{
    if (nearness < best->nearness ||
        (nearness == best->nearness && failure->depth < best->failure.depth))
        return FARTHER;
    if (nearness == best->nearness && failure->depth == best->failure.depth) {
        best->is_shared |= !is_same_complaint(failure, &best->failure);
        best->failure.types |= failure->types;
        return AS_NEAR;
    }
    *best = (struct nearest){.nearness = nearness, .failure = *failure, .index = index};
    return NEARER;
}

/*
 * Whether a const or an enum in the value's own fields says that this form is meant: 1, 0, or an
 * error.
 */
static int is_tagged(struct schema_checking *c, const struct schema *form,
                     const struct json_value *value, const struct schema_path *path)
{
    const struct schema_object *object = schema_target(form)->object;
    int r;

    if (value->type != JSON_OBJECT || object == NULL)
        return 0;
    json_each_member (key, value) {
        const struct schema_field *field;
        const struct schema *schema;

        r = schema_find_member(c, object, key, path, &field);
        if (r < 0)
            return r;
        if (field == NULL || field->schema == NULL)
            continue;
        schema = schema_target(field->schema);
        if (schema->constant == NULL && schema->options == NULL)
            continue;
        r = schema_fits_literals(c, schema, key + 1, path);
        if (r != 0)
            return r;
    }
    return 0;
}

/* What the nearest forms have in common. */
struct common {
    enum schema_rule rule;
    struct str tag; /* SCHEMA_RULE_TAG: the field that tells the forms apart */
    const struct json_value *tag_value;
    bool is_common; /* all broke the same rule, a tag in the same field */
};

/* c->list collects what the forms would accept there. */
static void collect(struct common *common, struct schema_text *list,
                    const struct schema_failure *failure, bool is_first)
{
    if (is_first) {
        *common = (struct common){.rule = failure->rule,
                                  .tag = failure->name,
                                  .tag_value = failure->value,
                                  .is_common = true};
        schema_text_init(list, list->bytes, list->size);
    }
    common->is_common &= failure->rule == common->rule;
    if (failure->rule == SCHEMA_RULE_TAG) {
        common->is_common &= failure->value == common->tag_value;
        schema_list_literals(failure->schema, list);
    } else if (failure->rule == SCHEMA_RULE_REQUIRED) {
        schema_text_add_choice_name(list, failure->name);
    }
}

static struct schema_failure form_failure(const struct schema_path *path,
                                          const struct json_value *value)
{
    return (struct schema_failure){
        .rule = SCHEMA_RULE_FORM, .depth = schema_depth_of(path), .value = value};
}

/*
 * No form fits: reports what helps most. Tries the forms again, also checking which one the value
 * claims to be. 0 if the nearest form shall report its own failure.
 */
static int SCHEMA_ASIDE explain_forms(struct schema_checking *c, const struct schema_list *forms,
                                      const struct json_value *value,
                                      const struct schema_path *path, size_t *out_speaker)
{
    struct schema_failure failure = form_failure(path, value);
    struct nearest best = {.nearness = NEAR_NOTHING};
    struct common common = {.is_common = false};
    struct schema_text list;
    int r;

    schema_text_init(&list, c->list, sizeof(c->list));
    for (size_t i = 0; i < forms->count; i++) {
        enum nearness nearness;
        enum comparison comparison;

        r = try_form(c, forms->schemas[i], value, path);
        assert(r < 0);
        if (r != ERR_SCHEMA_MISMATCH)
            return r;
        nearness = nearness_of(&c->failure, path);
        if (nearness == NEAR_MISSING || nearness == NEAR_INSIDE) {
            r = is_tagged(c, forms->schemas[i], value, path);
            if (r < 0)
                return r;
            if (r > 0)
                nearness = NEAR_TAGGED;
        }
        comparison = consider(&best, nearness, &c->failure, i);
        if (comparison != FARTHER)
            collect(&common, &list, &c->failure, comparison == NEARER);
    }
    if (best.nearness == NEAR_TYPE)
        return schema_complain_of_type(c, best.failure.types, value, path);
    if (!best.is_shared) {
        *out_speaker = best.index;
        return 0;
    }
    if (common.is_common && common.rule == SCHEMA_RULE_TAG) {
        struct schema_path inner = schema_path_to_name(path, common.tag);

        return schema_complain(c, failure, &inner, "must be one of: %s", list.bytes);
    }
    if (common.is_common && common.rule == SCHEMA_RULE_REQUIRED)
        return schema_complain(c, failure, path, "must have one of these fields: %s", list.bytes);
    return schema_complain(c, failure, path, "matches none of the allowed forms");
}

/* Keeps the nearest failure of the forms, of which none fits. */
static void SCHEMA_ASIDE keep_failure(struct schema_checking *c, const struct nearest *best,
                                      const struct json_value *value,
                                      const struct schema_path *path)
{
    c->failure = best->failure;
    /* One form does not speak for the others. Only types add up. */
    if (best->is_shared && best->nearness == NEAR_INSIDE)
        c->failure = (struct schema_failure){
            .rule = SCHEMA_RULE_OTHER, .depth = best->failure.depth, .value = value};
    else if (best->is_shared && best->nearness != NEAR_TYPE)
        c->failure = form_failure(path, value);
}

/*
 * How many of the forms fit, at most two of them counted and only one if that is enough; or an
 * error. If none does, c->failure says how near it was.
 */
static int SCHEMA_ASIDE count_fitting(struct schema_checking *c, const struct schema_list *forms,
                                      bool only_one, const struct json_value *value,
                                      const struct schema_path *path)
{
    struct nearest best = {.nearness = NEAR_NOTHING};
    int wanted = only_one ? 2 : 1;
    int fitting = 0;

    for (size_t i = 0; i < forms->count && fitting < wanted; i++) {
        int r = try_form(c, forms->schemas[i], value, path);

        if (r < 0 && r != ERR_SCHEMA_MISMATCH)
            return r;
        if (r < 0)
            consider(&best, nearness_of(&c->failure, path), &c->failure, i);
        else
            fitting++;
    }
    if (fitting == 0)
        keep_failure(c, &best, value, path);
    return fitting;
}

/* anyOf, and oneOf, which allows no second one that fits. */
static int check_forms(struct schema_checking *c, const struct schema_list *forms, bool only_one,
                       const struct json_value *value, const struct schema_path *path)
{
    size_t speaker;
    int r = count_fitting(c, forms, only_one, value, path);

    if (r < 0)
        return r;
    if (r > 1)
        return schema_complain_of_value(c, value, path,
                                        "matches more than one of the allowed forms");
    if (r == 1)
        return 0;
    if (c->is_silent)
        return ERR_SCHEMA_MISMATCH;
    r = explain_forms(c, forms, value, path, &speaker);
    if (r < 0)
        return r;
    return schema_check_value(c, forms->schemas[speaker], value, path);
}

int schema_check_combined(struct schema_checking *c, const struct schema_list *forms,
                          const struct json_value *value, const struct schema_path *path)
{
    int r;

    for (size_t i = 0; i < forms[SCHEMA_ALL_OF].count; i++) {
        r = schema_check_value(c, forms[SCHEMA_ALL_OF].schemas[i], value, path);
        if (r < 0)
            return r;
    }
    for (enum schema_form form = SCHEMA_ANY_OF; form <= SCHEMA_ONE_OF; form++) {
        if (forms[form].count == 0)
            continue;
        r = check_forms(c, &forms[form], form == SCHEMA_ONE_OF, value, path);
        if (r < 0)
            return r;
    }
    if (forms[SCHEMA_NOT].count == 0)
        return 0;
    r = try_form(c, forms[SCHEMA_NOT].schemas[0], value, path);
    if (r == 0)
        return schema_complain_of_value(c, value, path, "has a form that is not allowed");
    return r == ERR_SCHEMA_MISMATCH ? 0 : r;
}
