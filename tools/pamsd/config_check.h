/* SPDX-License-Identifier: GPL-2.0 */
/* config_check - what config.c leaves to config_check.c */
#ifndef PAMSD_CONFIG_CHECK_H
#define PAMSD_CONFIG_CHECK_H

#include <confuse.h>

#include "pamsd.h"

/*
 * Call this before a configuration file with this mode is parsed. without_keys: ignore keys,
 * files of keys, and rules.
 */
void config_begin(mode_t mode, bool without_keys);
/* Overwrite the keys with zeros, and free rules that config_take_rules() didn't take. */
void config_end(void);
/* Move the rules that check_rules() has read to *rules. The caller frees the array. */
void config_take_rules(struct pams_rules *rules);
/* Returns the key of a section, or NULL if the section has none. */
const uint8_t *config_key(const cfg_t *section);

int measure_parse(const char *text);			/* enum measure, or -1 */
int period_parse(const char *text);			/* enum period, or -1 */
unsigned int first_also_parse(const char *text);	/* FIRST_, or 0 */
/* The following return NULL, or a text that says what is wrong. */
const char *hours_parse(struct hours *hours, const char *text);
const char *then_parse(struct effect *then, const char *text);
const char *quota_parse(uint64_t *bytes, const char *text);
const char *about_parse(struct about *about, const char *text);

/* Callbacks of libconfuse that check a value or a section. Return 0 or -1. */
int check_about(cfg_t *cfg, cfg_opt_t *opt);
int check_battery(cfg_t *cfg, cfg_opt_t *opt);
int check_cap(cfg_t *cfg, cfg_opt_t *opt);
int check_from_day(cfg_t *cfg, cfg_opt_t *opt);
int check_first_also(cfg_t *cfg, cfg_opt_t *opt);
int check_hours(cfg_t *cfg, cfg_opt_t *opt);
int check_metered(cfg_t *cfg, cfg_opt_t *opt);
int check_per(cfg_t *cfg, cfg_opt_t *opt);
int check_quota(cfg_t *cfg, cfg_opt_t *opt);
int check_state(cfg_t *cfg, cfg_opt_t *opt);
int check_then(cfg_t *cfg, cfg_opt_t *opt);
int check_age(cfg_t *cfg, cfg_opt_t *opt);
int check_control(cfg_t *cfg, cfg_opt_t *opt);
int check_delay(cfg_t *cfg, cfg_opt_t *opt);
int check_http(cfg_t *cfg, cfg_opt_t *opt);
int check_ifname(cfg_t *cfg, cfg_opt_t *opt);
int check_interface(cfg_t *cfg, cfg_opt_t *opt);
int check_interval(cfg_t *cfg, cfg_opt_t *opt);
int check_key(cfg_t *cfg, cfg_opt_t *opt);
int check_key_file(cfg_t *cfg, cfg_opt_t *opt);
int check_listen(cfg_t *cfg, cfg_opt_t *opt);
int check_loss_max(cfg_t *cfg, cfg_opt_t *opt);
int check_measure(cfg_t *cfg, cfg_opt_t *opt);
int check_not_first(cfg_t *cfg, cfg_opt_t *opt);
int check_paths(cfg_t *cfg, cfg_opt_t *opt);
int check_peer(cfg_t *cfg, cfg_opt_t *opt);
int check_plugin(cfg_t *cfg, cfg_opt_t *opt);
int check_port(cfg_t *cfg, cfg_opt_t *opt);
int check_prefix(cfg_t *cfg, cfg_opt_t *opt);
int check_rate(cfg_t *cfg, cfg_opt_t *opt);
int check_reporter(cfg_t *cfg, cfg_opt_t *opt);
int check_rules(cfg_t *cfg, cfg_opt_t *opt);
int check_server(cfg_t *cfg, cfg_opt_t *opt);
int check_to(cfg_t *cfg, cfg_opt_t *opt);
int check_to_address(cfg_t *cfg, cfg_opt_t *opt);

#endif /* PAMSD_CONFIG_CHECK_H */
