/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rule - parses the text form of rules for connections, for pamsctl and pamsd
 *
 * Parsers return NULL, or a text that says what is wrong, which is valid until the next
 * call.
 */
#ifndef PAMS_RULE_H
#define PAMS_RULE_H

#include <stdio.h>

#include "netlink.h"
#include "parse.h"

/* Parse "[MATCH...] use SCHEDULER" and the scheduler's parameters. */
const char *rule_parse(struct words *words, struct pams_rule *rule);
/* Parse "SCHEDULER [first SIZE] [overflow 0|TIME|FACTORx [costly-copies]]". */
const char *rule_choice_parse(struct words *words,
			      char scheduler[PAMS_SCHEDULER_MAX],
			      uint32_t *first_bytes,
			      struct pams_overflow *overflow);
/* Insert a rule at this index. Returns false if there is no memory. */
bool rules_insert(struct pams_rules *rules, unsigned int at,
		  const struct pams_rule *rule);
/*
 * Read a file of rules. *rules has to be empty; the caller calls free(rules->rule), after an
 * error, too. *line is set to the number of the last line read, where an error is.
 */
const char *rules_read(FILE *file, struct pams_rules *rules, size_t *line);
/* Remove the first word if it is a rule's number, and set *number. Returns whether it was. */
bool rule_number(struct words *words, uint64_t *number);

#endif /* PAMS_RULE_H */
