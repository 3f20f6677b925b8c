/* SPDX-License-Identifier: GPL-2.0 */
/* up - what the files of "pamsctl up" and "pamsctl down" share */
#ifndef PAMSCTL_UP_H
#define PAMSCTL_UP_H

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

#define UP_SCHEDULER	"minfct"

/*
 * One call of up or down. A step is an object of the record: "what" names its kind, the rest is
 * what is needed to carry it out and to undo it.
 */
struct up {
	bool dry_run;
	bool procd;		/* OpenWrt's; else systemd's, or neither */
	bool systemd;
	json_t *record;		/* its steps are those that were begun, and not undone */
	bool complete;		/* the record's up came to its end */
	json_t *lines;		/* what was done, for people */
	json_t *wrong;		/* what could not be undone */
	char why[512];		/* the error of the first function that failed */
	int status;		/* and pamsctl's exit status */
	int locked;		/* the folder of the record, or -1 */
	/* up made pamsd.conf, and without what up put there it is one that pamsd takes */
	bool conf_is_users;
};

/* up_record.c */
/* Keep an error, unless there is one; the exit status */
int up_fail(struct up *up, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Note what was done: "write" in a dry run, else "wrote", and the rest. */
void up_say(struct up *up, const char *would, const char *did, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Note what is as the user wants it, and stays. */
void up_note(struct up *up, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Note what could not be undone, and why: it stays in the record. DONE, or no memory. */
int up_stays(struct up *up, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int up_lock(struct up *up, bool make);	/* DONE, or refused; no folder is fine for down */
int up_read_record(struct up *up);
int up_write_record(struct up *up);
int up_remove_record(struct up *up);	/* and what a killed up left of it */
json_t *up_steps(const struct up *up);
json_t *find_step(const json_t *steps, const char *what, const char *path);
json_t *up_step_of(const struct up *up, const char *what, const char *path);
const char *up_string(const json_t *object, const char *name);	/* "" if it isn't there */
bool up_flag(const json_t *object, const char *name);
bool up_boot(char boot[64]);	/* which boot of the machine's this is; "" and false: not known */

/* up_file.c */
/* The text of a file, to be freed; NULL: it isn't there, or *err is -errno. No text has a NUL. */
char *file_text(const char *path, mode_t *mode, int *err);
/*
 * Replace or make a file, whole or not at all: an old one keeps its mode and owner, and a link
 * its target. 0 or -errno.
 */
int file_put(const char *path, const char *text, mode_t mode);
void file_clean(const char *path);	/* take away what a killed file_put() left */
int file_folder(const char *path, char *folder, size_t room);	/* that is missing; 0: none is */

/* up_line.c: the step that adds a line to a file, or makes it; NULL: it has it, or up_fail() */
json_t *line_plan(struct up *up, const char *path, const char *line, bool (*has)(const char *text));
int line_carry_out(struct up *up, json_t *step);
int line_undo(struct up *up, json_t *step);
/* up_line.c: the same with all of a file that is up's; one that was changed since is left */
json_t *file_plan(struct up *up, const char *path, const char *text);

/* up_conf.c */
#define CONF_FILE	"/etc/pamsd/pamsd.conf"
#define CONF_BLOCK	"# added by pamsctl up\npaths { }\n# end of what pamsctl up added\n"

bool conf_has_paths(const char *text);
/* Where the block stands, as a comment that is one: not in a string, nor in another comment. */
const char *conf_find_block(const char *text);
json_t *conf_plan(struct up *up);
int conf_carry_out(struct up *up, json_t *step);
int conf_undo(struct up *up, json_t *step);

/* up_gateway.c: adds what it takes to be the gateway of --gateway, or of the record, if any */
void gateway_plan(struct up *up, json_t *plan);
int gateway_carry_out(struct up *up, json_t *step);
int gateway_undo(struct up *up, json_t *step);

/* up_unit.c: systemctl's status, and the first line of what it says */
int unit_tell(const char *command, const char *unit, char *said, size_t room);
bool unit_is(const char *unit, const char *property, const char *value);
/* one of up's own, which is enabled; "changed": its file is, or what it reads */
json_t *unit_plan(struct up *up, const char *unit, bool changed);
int unit_carry_out(struct up *up, json_t *step);
int unit_undo(struct up *up, json_t *step);
/* another's, which is told by that command, restart or reload, to read a file of up's */
json_t *reader_plan(struct up *up, const char *unit, const char *command, bool changed);
int reader_carry_out(struct up *up, json_t *step);
int reader_undo(struct up *up, json_t *step);

/* up_service.c */
void service_manager(struct up *up);
json_t *service_plan(struct up *up, bool changed);
int service_carry_out(struct up *up, json_t *step);
int service_undo(struct up *up, json_t *step);
/* OpenWrt's own configuration of pamsd, of which its init script writes pamsd.conf */
bool uci_is_used(const struct up *up);
json_t *uci_plan(struct up *up);
int uci_carry_out(struct up *up, json_t *step);
int uci_undo(struct up *up, json_t *step);

/* up_kernel.c */
json_t *module_plan(struct up *up, bool needed, bool *there, bool *installed);
int module_carry_out(struct up *up, json_t *step);
int module_undo(struct up *up, json_t *step);
json_t *scheduler_plan(struct up *up);
int scheduler_carry_out(struct up *up, json_t *step);
int scheduler_undo(struct up *up, json_t *step);
/* When up chose it for this network namespace, in s since the boot; -1: not in this boot. */
double scheduler_time(const struct up *up);

/* up_listen.c: the services whose listening sockets are to be made anew */
/* NULL: they can't be listed, which is said, and is an error if they are to be restarted */
json_t *listen_services(struct up *up, bool restart, int *status);
int listen_restart(struct up *up, json_t *services);
void listen_print(struct up *up, json_t *services, bool restart);

#endif /* PAMSCTL_UP_H */
