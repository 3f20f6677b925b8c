// SPDX-License-Identifier: GPL-2.0
/*
 * overrun - tests of what is known of the module when its events come too fast and
 * some are lost, among them that it went and came
 *
 * The kernel is made here: the family's number, and what is received.
 */
#include "../../tools/lib/events.c"
#include "tap.h"

#define WORDS_MAX	128

enum received {
	NOTHING,
	OVERRUN,
	NEW_FAMILY,
	DEL_FAMILY,
};

static struct {
	enum received what;
	int family;
} queue[8];
static unsigned int queue_at;
static int family;	/* as the kernel has it, 0: there is none */
static char told[WORDS_MAX];
static struct nl_sock *handles_own;
static nl_recvmsg_msg_cb_t valid;
static void *valid_arg;

int pams_errno(int nl_error)
{
	return nl_error;
}

int pams_fail(struct pams_nl *nl, int error, const char *text)
{
	(void)nl;
	(void)text;
	return error;
}

int pams_resolve(struct pams_nl *nl)
{
	nl->family = family;
	return family ? 0 : -ENOENT;
}

bool pams_has_key(const struct pams_path *path)
{
	(void)path;
	return false;
}

int pams_read_path(struct nlmsghdr *hdr, struct pams_path *path)
{
	(void)hdr;
	(void)path;
	return -EBADMSG;
}

int pams_read_conn(struct nlmsghdr *hdr, struct pams_conn *conn)
{
	(void)hdr;
	memset(conn, 0, sizeof(*conn));
	return -EBADMSG;
}

/* After a batch the handle's own socket finds nothing: libnl waits for another number. */
int genl_ctrl_resolve_grp(struct nl_sock *sock, const char *name, const char *group)
{
	(void)group;
	if (sock == handles_own)
		return -NLE_OBJ_NOTFOUND;
	return strcmp(name, MPTCP_PAMS_FAMILY_NAME) || family ? 1 : -NLE_OBJ_NOTFOUND;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	(void)fd;
	(void)level;
	(void)name;
	(void)value;
	(void)length;
	return 0;
}

int genl_connect(struct nl_sock *sock)
{
	(void)sock;
	return 0;
}

int nl_socket_set_nonblocking(const struct nl_sock *sock)
{
	(void)sock;
	return 0;
}

int nl_socket_set_buffer_size(struct nl_sock *sock, int rx, int tx)
{
	(void)sock;
	(void)rx;
	(void)tx;
	return 0;
}

int nl_socket_add_membership(struct nl_sock *sock, int group)
{
	(void)sock;
	(void)group;
	return 0;
}

int nl_cb_set(struct nl_cb *cb, enum nl_cb_type type, enum nl_cb_kind kind,
	      nl_recvmsg_msg_cb_t function, void *arg)
{
	(void)cb;
	(void)kind;
	/* a new socket's are none */
	if (type != NL_CB_VALID || !function)
		return 0;
	valid = function;
	valid_arg = arg;
	return 0;
}

static void receive_family(int command, int id)
{
	struct nl_msg *msg = nlmsg_alloc();

	genlmsg_put(msg, 0, 0, GENL_ID_CTRL, 0, 0, command, 1);
	nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, MPTCP_PAMS_FAMILY_NAME);
	nla_put_u16(msg, CTRL_ATTR_FAMILY_ID, id);
	valid(msg, valid_arg);
	nlmsg_free(msg);
}

int nl_recvmsgs(struct nl_sock *sock, struct nl_cb *cb)
{
	int id = queue[queue_at].family;

	(void)sock;
	(void)cb;
	switch (queue[queue_at].what) {
	case NOTHING:
		return -NLE_AGAIN;
	case OVERRUN:
		queue_at++;
		return -NLE_NOMEM;
	case NEW_FAMILY:
		queue_at++;
		receive_family(CTRL_CMD_NEWFAMILY, id);
		break;
	case DEL_FAMILY:
		queue_at++;
		receive_family(CTRL_CMD_DELFAMILY, id);
		break;
	}
	return 0;
}

static int tell(const struct pams_event *event, void *arg)
{
	(void)arg;
	strcat(told, pams_event_name(event->kind));
	strcat(told, " ");
	return 0;
}

static bool are_told(struct pams_nl *nl, const char *words)
{
	told[0] = '\0';
	queue_at = 0;
	pams_nl_receive(nl, tell, NULL);
	memset(queue, 0, sizeof(queue));
	if (strcmp(told, words))
		printf("# told: %s\n", told);
	return !strcmp(told, words);
}

/* The module is there as number, or isn't (0), and was subscribed to. */
static struct pams_nl subscribed(int number)
{
	struct pams_nl nl = { .sock = handles_own };

	family = number;
	pams_resolve(&nl);
	check(!pams_nl_subscribe(&nl));
	return nl;
}

static void it_comes_and_goes(void)
{
	struct pams_nl nl = subscribed(30);

	family = 0;
	queue[0].what = DEL_FAMILY;
	queue[0].family = 30;
	check(are_told(&nl, "unloaded "));
	family = 31;
	queue[0].what = NEW_FAMILY;
	queue[0].family = 31;
	check(are_told(&nl, "loaded "));
	nl_socket_free(nl.events);
}

static void overrun_alone(void)
{
	struct pams_nl nl = subscribed(30);

	queue[0].what = OVERRUN;
	check(are_told(&nl, "lost "));
	queue[0].what = OVERRUN;
	queue[1].what = OVERRUN;
	check(are_told(&nl, "lost lost "));
	nl_socket_free(nl.events);
}

static void both_events_are_lost(void)
{
	struct pams_nl nl = subscribed(30);

	family = 31;
	queue[0].what = OVERRUN;
	check(are_told(&nl, "lost loaded "));
	queue[0].what = OVERRUN;
	check(are_told(&nl, "lost "));
	nl_socket_free(nl.events);
}

/* A question to the module has found the new number first. */
static void it_is_known_already(void)
{
	struct pams_nl nl = subscribed(30);

	family = 31;
	pams_resolve(&nl);
	queue[0].what = OVERRUN;
	check(are_told(&nl, "lost loaded "));
	nl_socket_free(nl.events);
}

/* What came before the overrun is received after it. */
static void that_it_went_is_received_late(void)
{
	struct pams_nl nl = subscribed(30);

	family = 31;
	queue[0].what = OVERRUN;
	queue[1].what = DEL_FAMILY;
	queue[1].family = 30;
	check(are_told(&nl, "lost loaded "));
	check(nl.family == 31);
	nl_socket_free(nl.events);
}

static void that_it_went_is_lost(void)
{
	struct pams_nl nl = subscribed(30);

	family = 0;
	queue[0].what = OVERRUN;
	check(are_told(&nl, "lost unloaded "));
	family = 31;
	queue[0].what = OVERRUN;
	check(are_told(&nl, "lost loaded "));
	nl_socket_free(nl.events);
}

int main(void)
{
	handles_own = nl_socket_alloc();
	run(it_comes_and_goes);
	run(overrun_alone);
	run(both_events_are_lost);
	run(it_is_known_already);
	run(that_it_went_is_received_late);
	run(that_it_went_is_lost);
	nl_socket_free(handles_own);
	return tap_end();
}
