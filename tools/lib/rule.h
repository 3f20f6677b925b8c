/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rule - the rules of connections as text, which pamsctl and pamsd read
 *
 * Parsing gives NULL, or what is wrong with the text, which is good until the next call.
 */
#ifndef PAMS_RULE_H
#define PAMS_RULE_H

#include <stdio.h>

#include "netlink.h"
#include "parse.h"

/* [MATCH...] use SCHEDULER and its parameters */
const char *rule_parse(struct words *words, struct pams_rule *rule);
/* SCHEDULER [first SIZE] [overflow 0|TIME|FACTORx [costly-copies]] */
const char *rule_choice_parse(struct words *words,
			      char scheduler[PAMS_SCHEDULER_MAX],
			      uint32_t *first_bytes,
			      struct pams_overflow *overflow);
/* Put it at that place, from 0 on; false without memory. */
bool rules_insert(struct pams_rules *rules, unsigned int at,
		  const struct pams_rule *rule);
/*
 * What the file says, in place of nothing: rules has to be empty, and free(rules->rule)
 * is the caller's in any case. *line is where a fault is.
 */
const char *rules_read(FILE *file, struct pams_rules *rules, size_t *line);
/* The next word, if it is a rule's number. */
bool rule_number(struct words *words, uint64_t *number);

#endif /* PAMS_RULE_H */
