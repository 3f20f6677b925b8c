// SPDX-License-Identifier: GPL-2.0
/*
 * up_gateway - this machine as the gateway of a LAN: "up --gateway LAN[=ADDRESS/LENGTH]"
 *
 * The LAN's TCP (IPv4) goes to a proxy on this machine, and from there over all links; what else
 * it sends is translated and forwarded; its IPv6 is refused, so that its devices use IPv4 at
 * once. The rules are a table of nftables' and a unit of their own. If the LAN's interface has no
 * address a second unit adds it, and other managers leave that interface alone. dnsmasq, if it is
 * installed, gives the devices addresses and DNS.
 *
 * Which LAN it is, is in the record: an up without the option mends the same.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netlink/errno.h>

#include "interfaces.h"
#include "pamsctl.h"
#include "up.h"

#define BY		"# by pamsctl up --gateway: pamsctl down removes it\n"
#define FORWARD		"/proc/sys/net/ipv4/ip_forward"
#define SYSCTL_FILE	"/etc/sysctl.d/90-mptcp-pams-gateway.conf"
#define RULES_FILE	"/etc/mptcp-pams/gateway.nft"
#define RULES_UNIT	"mptcp-pams-gateway.service"
#define LAN_UNIT	"mptcp-pams-lan.service"
#define UNITS		"/etc/systemd/system/"
#define NETWORKD	"systemd-networkd.service"
#define NETWORKD_FILE	"/etc/systemd/network/10-mptcp-pams-lan.network"
#define UDEV		"systemd-udevd.service"
#define MANAGER		"NetworkManager.service"
#define MANAGER_FILE	"/etc/NetworkManager/conf.d/mptcp-pams-lan.conf"
#define DNSMASQ		"dnsmasq.service"
#define DNSMASQ_FILE	"/etc/dnsmasq.d/mptcp-pams"

/* where the proxy listens, at the LAN's address: recipes/gateway.md */
#define PROXY_PORT	12345
/* of the LAN's network: dnsmasq has room for leases, and there are addresses for devices */
#define LENGTH_MIN	16
#define LENGTH_MAX	29

struct lan {
	char name[IF_NAMESIZE];
	uint32_t address;	/* of this machine, in host order; 0: the interface's own */
	unsigned int length;
	bool own;		/* up gives the interface its address */
	bool dhcp;
};

static const char *show_ipv4(char text[INET_ADDRSTRLEN], uint32_t address)
{
	struct in_addr in = { htonl(address) };

	return inet_ntop(AF_INET, &in, text, INET_ADDRSTRLEN);
}

static uint32_t ipv4_of(const uint8_t bytes[4])
{
	uint32_t address;

	memcpy(&address, bytes, sizeof(address));
	return ntohl(address);
}

static uint32_t mask_of(unsigned int length)
{
	return length ? ~0U << (32 - length) : 0;
}

/* Whether a line of these files has the expression; "but": of others than this file. */
static bool files_say(const char *files, const char *expression, const char *but)
{
	glob_t found = { };
	bool says = false;
	regex_t regex;

	if (regcomp(&regex, expression, REG_EXTENDED | REG_NEWLINE | REG_NOSUB))
		return false;
	glob(files, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *file = found.gl_pathv[i];
		int err;
		char *text = strcmp(file, but) ? file_text(file, NULL, &err) : NULL;

		says |= text && !regexec(&regex, text, 0, NULL, 0);
		free(text);
	}
	globfree(&found);
	regfree(&regex);
	return says;
}

/* --- which LAN --- */

/* It is written into rules and files. */
static bool is_plain(const char *name)
{
	while (isalnum((unsigned char)*name) || (*name && strchr("._-", *name)))
		name++;
	return !*name;
}

static int parse_lan(struct up *up, struct lan *lan, const char *text)
{
	size_t length = strcspn(text, "=");
	const char *rest = NULL;
	uint8_t bytes[16];
	char *end;
	int family;

	memset(lan, 0, sizeof(*lan));
	lan->dhcp = !(options.given & OPT_NO_DHCP);
	if (!length || length >= sizeof(lan->name))
		return up_fail(up, USAGE, "'%s' isn't INTERFACE or INTERFACE=ADDRESS/LENGTH", text);
	memcpy(lan->name, text, length);
	if (!is_plain(lan->name))
		return up_fail(up, USAGE, "'%s' can't be a gateway's interface: letters, digits "
			       "and ._- only", lan->name);
	if (!text[length])
		return DONE;
	text += length + 1;
	if (!inet_parse(text, &family, bytes, &rest))
		return up_fail(up, USAGE, "'%s' isn't ADDRESS/LENGTH, as 192.168.50.1/24", text);
	if (family != AF_INET)
		return up_fail(up, USAGE, "the LAN's address is one of IPv4, as 192.168.50.1/24");
	lan->length = rest && isdigit((unsigned char)*rest) ? strtoul(rest, &end, 10) : 0;
	if (!lan->length || *end)
		return up_fail(up, USAGE, "'%s' lacks the network's length, as 192.168.50.1/24",
			       text);
	lan->address = ipv4_of(bytes);
	return DONE;
}

/* Packet rules let through what goes to such addresses, and with it what goes to this machine. */
static bool is_private(uint32_t address)
{
	return address >> 24 == 10 || address >> 20 == 0xac1 || address >> 16 == 0xc0a8;
}

static int check_address(struct up *up, const struct lan *lan)
{
	uint32_t hosts = ~mask_of(lan->length);
	char text[INET_ADDRSTRLEN];

	show_ipv4(text, lan->address);
	if (lan->length < LENGTH_MIN || lan->length > LENGTH_MAX)
		return up_fail(up, FAILED, "%s/%u: the length of a LAN's network is %u to %u",
			       text, lan->length, LENGTH_MIN, LENGTH_MAX);
	if (!is_private(lan->address))
		return up_fail(up, FAILED, "%s isn't a private address, as 192.168.50.1 is", text);
	if (!(lan->address & hosts) || (lan->address & hosts) == hosts)
		return up_fail(up, FAILED, "%s is no device's address in a /%u", text,
			       lan->length);
	return DONE;
}

static const struct interface *find_interface(const struct interfaces *interfaces,
					      const char *name)
{
	for (size_t i = 0; i < interfaces->count; i++)
		if (!strcmp(interfaces->at[i].name, name))
			return &interfaces->at[i];
	return NULL;
}

static bool is_link(const struct interfaces *interfaces, const struct interface *one)
{
	for (size_t i = 0; i < interfaces->route_count; i++)
		if (interfaces->routes[i].way.ifindex == one->ifindex)
			return true;
	return false;
}

static bool has_ipv4(const struct interface *one)
{
	for (size_t i = 0; i < one->count; i++)
		if (one->addresses[i].family == AF_INET && !one->addresses[i].link_local)
			return true;
	return false;
}

static int check_interface(struct up *up, const struct interfaces *interfaces,
			   const struct lan *lan, const struct interface *one)
{
	if (!one)
		return up_fail(up, FAILED, "there is no interface %s", lan->name);
	if (one->flags & IFF_LOOPBACK)
		return up_fail(up, FAILED, "%s leads to no LAN", lan->name);
	if (one->port)
		return up_fail(up, FAILED, "%s is a port of a bridge or bond: give that one's name",
			       lan->name);
	if (is_link(interfaces, one))
		return up_fail(up, FAILED, "%s has a default route: it is a link, and the LAN is "
			       "another interface, or a VLAN's", lan->name);
	return DONE;
}

/* The address that the interface has, or is to have. */
static int choose_address(struct up *up, struct lan *lan, const struct interface *one)
{
	const struct own_address *found = NULL;
	char text[INET_ADDRSTRLEN];

	for (size_t i = 0; i < one->count; i++) {
		const struct own_address *own = &one->addresses[i];

		if (own->family != AF_INET || own->link_local)
			continue;
		found = found ?: own;
		if (ipv4_of(own->bytes) == lan->address && own->length == lan->length)
			found = own;
	}
	if (!found && !lan->address)
		return up_fail(up, FAILED, "%s has no IPv4 address: give it one by --gateway "
			       "%s=192.168.50.1/24", lan->name, lan->name);
	/* It doesn't make what it is to leave alone; veth it leaves alone by itself. */
	if (!found && *one->kind && strcmp(one->kind, "veth") &&
	    unit_is(MANAGER, "ActiveState", "active"))
		return up_fail(up, FAILED, "%s is a %s, which NetworkManager may make at each "
			       "boot: give it its address there (ipv4.method manual), then "
			       "--gateway %s", lan->name, one->kind, lan->name);
	lan->own = !found;
	if (!found)
		return DONE;
	if (lan->address && (lan->address != ipv4_of(found->bytes) || lan->length != found->length))
		return up_fail(up, FAILED, "%s has the address %s/%u: take that one away, or say "
			       "--gateway %s", lan->name, show_ipv4(text, ipv4_of(found->bytes)),
			       found->length, lan->name);
	lan->address = ipv4_of(found->bytes);
	lan->length = found->length;
	return DONE;
}

static int check_others(struct up *up, const struct interfaces *interfaces, const struct lan *lan,
			const struct interface *one)
{
	char ours[INET_ADDRSTRLEN], theirs[INET_ADDRSTRLEN];

	for (size_t i = 0; i < interfaces->count; i++) {
		const struct interface *other = &interfaces->at[i];

		for (size_t j = 0; other != one && j < other->count; j++) {
			const struct own_address *own = &other->addresses[j];
			uint32_t mask = mask_of(own->length < lan->length ? own->length :
						lan->length);

			if (own->family != AF_INET || (ipv4_of(own->bytes) ^ lan->address) & mask)
				continue;
			return up_fail(up, FAILED, "%s/%u overlaps with %s/%u of %s: give the LAN "
				       "another network", show_ipv4(ours, lan->address),
				       lan->length, show_ipv4(theirs, ipv4_of(own->bytes)),
				       own->length, other->name);
		}
	}
	return DONE;
}

static int check_lan(struct up *up, struct lan *lan)
{
	struct interfaces interfaces = { };
	int err = interfaces_read(&interfaces), status;
	const struct interface *one = find_interface(&interfaces, lan->name);

	if (err)
		status = up_fail(up, FAILED, "the interfaces can't be read: %s", nl_geterror(err));
	else
		status = check_interface(up, &interfaces, lan, one) ?:
			 choose_address(up, lan, one) ?: check_address(up, lan) ?:
			 check_others(up, &interfaces, lan, one);
	interfaces_free(&interfaces);
	return status;
}

static int check_machine(struct up *up)
{
	const char * const nft[] = { "nft", "--version", NULL };
	char said[256];

	if (up->procd)
		return up_fail(up, FAILED, "--gateway isn't for OpenWrt: its own settings of "
			       "network, firewall and DHCP make it a gateway");
	if (!up->systemd)
		return up_fail(up, FAILED, "--gateway needs systemd");
	if (program_run(nft, true, said, sizeof(said)))
		return up_fail(up, FAILED, "there is no nft, which loads the packet rules: install "
			       "the package nftables");
	return DONE;
}

/* The LAN of the record; the option may name the same one again. */
static int take_lan(struct up *up, struct lan *lan, const json_t *step)
{
	struct lan named = *lan;
	char text[INET_ADDRSTRLEN];
	const char *rest;
	uint8_t bytes[16];
	int family;

	memset(lan, 0, sizeof(*lan));
	snprintf(lan->name, sizeof(lan->name), "%s", up_string(step, "lan"));
	if (!is_plain(lan->name) || !*lan->name ||
	    !inet_parse(up_string(step, "address"), &family, bytes, &rest) || family != AF_INET)
		return up_fail(up, FAILED, "the record's gateway can't be read: pamsctl down");
	lan->address = ipv4_of(bytes);
	lan->length = json_integer_value(json_object_get(step, "length"));
	lan->own = up_flag(step, "own");
	lan->dhcp = up_flag(step, "dhcp");
	if (check_address(up, lan))
		return up->status;
	if (!*named.name)
		return DONE;
	if (!strcmp(named.name, lan->name) && named.dhcp == lan->dhcp &&
	    (!named.address || (named.address == lan->address && named.length == lan->length)))
		return DONE;
	return up_fail(up, FAILED, "this is the gateway of %s, %s/%u with%s DHCP, already: pamsctl "
		       "down first", lan->name, show_ipv4(text, lan->address), lan->length,
		       lan->dhcp ? "" : "out");
}

/* --- the files --- */

/*
 * What isn't the Internet's is let through. IPv6 is refused before it is known if this machine
 * would forward it: else it would vanish, and devices would wait. Neighbours on a link, who could
 * name this machine as their router, don't get into the LAN; a tunnel, this machine's containers
 * and ports that somebody forwards do.
 */
static const char rules[] = BY
	"table inet mptcp_pams_gateway\n"
	"delete table inet mptcp_pams_gateway\n"
	"table inet mptcp_pams_gateway {\n"
	"	chain arrive {\n"
	"		type filter hook prerouting priority raw\n"
	"		iifname != \"%1$s\" accept\n"
	"		reset tcp option mptcp\n"
	"		meta nfproto ipv4 accept\n"
	"		ip6 daddr { ::, fc00::/7, fe80::/10, ff00::/8 } accept\n"
	"		meta l4proto tcp reject with tcp reset\n"
	"		reject with icmpv6 type admin-prohibited\n"
	"	}\n"
	"	chain take {\n"
	"		type nat hook prerouting priority dstnat\n"
	"		iifname \"%1$s\" meta l4proto tcp ip daddr != { 0.0.0.0/8, 10.0.0.0/8, "
	"100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24, 192.168.0.0/16, "
	"198.18.0.0/15, 224.0.0.0/3 } dnat ip to %2$s:%3$u\n"
	"	}\n"
	"	chain pass {\n"
	"		type filter hook forward priority filter\n"
	"		iifname \"%1$s\" accept\n"
	"		oifname != \"%1$s\" accept\n"
	"		ct state established,related accept\n"
	"		ct status dnat accept\n"
	"		meta iiftype != ether accept\n"
	"		meta iifkind \"bridge\" accept\n"
	"		drop\n"
	"	}\n"
	"	chain leave {\n"
	"		type nat hook postrouting priority srcnat\n"
	"		iifname \"%1$s\" oifname != \"%1$s\" meta nfproto ipv4 masquerade\n"
	"	}\n"
	"}\n";

/* As nftables.service, with which it is loaded again: that one removes all rules first. */
static const char rules_unit[] = BY
	"[Unit]\n"
	"Description=Packet rules of a gateway with MPTCP\n"
	"DefaultDependencies=no\n"
	"Wants=network-pre.target\n"
	"Before=network-pre.target shutdown.target\n"
	"Conflicts=shutdown.target\n"
	"After=nftables.service\n"
	"PartOf=nftables.service\n"
	"ReloadPropagatedFrom=nftables.service\n"
	"\n"
	"[Service]\n"
	"Type=oneshot\n"
	"RemainAfterExit=yes\n"
	"ExecStart=nft -f " RULES_FILE "\n"
	"ExecReload=nft -f " RULES_FILE "\n"
	"ExecStop=-nft delete table inet mptcp_pams_gateway\n"
	"\n"
	"[Install]\n"
	"WantedBy=sysinit.target\n";

/*
 * Started whenever the interface comes, as an adapter that is plugged in again. Without udev, as in
 * a container, nothing says that: there it is tried until the interface is there.
 */
#define DEVICE_MAX	128
static const char lan_bound[] = "BindsTo=%1$s\nAfter=%1$s\nJobTimeoutSec=15\n";
static const char lan_unit[] = BY
	"[Unit]\n"
	"Description=Address of a gateway in its LAN\n"
	"After=network-pre.target\n"
	"%4$sStartLimitIntervalSec=0\n"
	"\n"
	"[Service]\n"
	"Type=oneshot\n"
	"RemainAfterExit=yes\n"
	"Restart=on-failure\n"
	"RestartSec=5\n"
	"ExecStart=ip address replace %2$s/%3$u dev %1$s\n"
	"ExecStart=ip link set dev %1$s up\n"
	"ExecStop=-ip address delete %2$s/%3$u dev %1$s\n"
	"\n"
	"[Install]\n"
	"WantedBy=%5$s\n";

static const char not_networkds[] = BY "[Match]\nName=%1$s\n\n[Link]\nUnmanaged=yes\n";

static const char not_managers[] = BY "[keyfile]\nunmanaged-devices+=interface-name:%1$s\n";

/* Nothing is said of 127.0.0.1: where resolvconf is, this machine asks there, too. */
static const char dnsmasq[] = BY "%sdhcp-range=%s,%s,12h\n";

/* --- the plan --- */

/* Adds the step, if there is one; whether there is. */
static bool add(json_t *plan, json_t *step)
{
	return step && !json_array_append_new(plan, step);
}

static bool add_file(struct up *up, json_t *plan, const char *path, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static bool add_file(struct up *up, json_t *plan, const char *path, const char *format, ...)
{
	bool added = false;
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (text)
		added = add(plan, file_plan(up, path, text));
	else
		up_fail(up, FAILED, "there is no memory");
	free(text);
	return added;
}

/* systemd's unit of an interface, whose name is_plain(): dashes are escaped (systemd.unit(5)). */
static void device_of(char unit[DEVICE_MAX], const char *name)
{
	int at = snprintf(unit, DEVICE_MAX, "sys-subsystem-net-devices-");

	for (; *name; name++)
		at += snprintf(unit + at, DEVICE_MAX - at, *name == '-' ? "\\x2d" : "%c", *name);
	snprintf(unit + at, DEVICE_MAX - at, ".device");
}

/* They go with "nft flush ruleset", of which the unit that loads them isn't told. */
static bool rules_are_loaded(void)
{
	const char * const words[] = { "nft", "list", "table", "inet", "mptcp_pams_gateway", NULL };
	char said[256];

	return !program_run(words, true, said, sizeof(said));
}

static void plan_address(struct up *up, json_t *plan, const struct lan *lan)
{
	char wanted_by[DEVICE_MAX] = "multi-user.target", bound[3 * DEVICE_MAX] = "";
	unsigned int ifindex = if_nametoindex(lan->name);
	uint32_t address = htonl(lan->address);
	char text[INET_ADDRSTRLEN];
	bool changed;

	if (!lan->own)
		return;
	if (unit_is(UDEV, "ActiveState", "active")) {
		device_of(wanted_by, lan->name);
		snprintf(bound, sizeof(bound), lan_bound, wanted_by);
	}
	if (unit_is(NETWORKD, "ActiveState", "active")) {
		changed = add_file(up, plan, NETWORKD_FILE, not_networkds, lan->name);
		add(plan, reader_plan(up, NETWORKD, "restart", changed));
	}
	if (unit_is(MANAGER, "ActiveState", "active")) {
		changed = add_file(up, plan, MANAGER_FILE, not_managers, lan->name);
		add(plan, reader_plan(up, MANAGER, "reload", changed));
	}
	changed = add_file(up, plan, UNITS LAN_UNIT, lan_unit, lan->name,
			   show_ipv4(text, lan->address), lan->length, bound, wanted_by);
	/* somebody took it away */
	changed |= ifindex && interface_of(AF_INET, &address, ifindex) != ifindex;
	if (!changed && up->complete && !ifindex &&
	    unit_is(LAN_UNIT, "UnitFileState", "enabled"))
		up_note(up, "%s isn't there: it gets its address when it comes", lan->name);
	else
		add(plan, unit_plan(up, LAN_UNIT, changed));
}

static bool dnsmasq_says(const char *expression, const char *but)
{
	return files_say("/etc/dnsmasq.conf", expression, "") ||
	       files_say("/etc/dnsmasq.d/*", expression, but);
}

#define SERVES_MAX	(IF_NAMESIZE + 32)
/*
 * Which networks dnsmasq serves: the LAN alone, unless it is somebody's already, and without a line
 * that narrows it: then all, as before. It refuses to bind in two ways.
 */
static void dnsmasq_serves(char lines[SERVES_MAX], const struct lan *lan)
{
	static const char used[] = "^[ \t]*(dhcp-range|server|address|local|host-record|"
				   "addn-hosts|cname)[ \t]*=";
	static const char narrow[] = "^[ \t]*(interface|listen-address)[ \t]*=";
	static const char binds[] = "^[ \t]*bind-(interfaces|dynamic)";

	lines[0] = 0;
	if (!dnsmasq_says(used, DNSMASQ_FILE) || dnsmasq_says(narrow, ""))
		snprintf(lines, SERVES_MAX, "interface=%s\n%s", lan->name,
			 dnsmasq_says(binds, DNSMASQ_FILE) ? "" : "bind-dynamic\n");
}

/* Debian's starts with the folder, which dnsmasq by itself reads only if it is told. */
static bool dnsmasq_reads_ours(void)
{
	return !access("/etc/default/dnsmasq", F_OK) ||
	       files_say("/etc/dnsmasq.conf", "^[ \t]*conf-dir[ \t]*=[ \t]*/etc/dnsmasq[.]d", "");
}

static void plan_dhcp(struct up *up, json_t *plan, const struct lan *lan)
{
	char text[INET_ADDRSTRLEN], end[INET_ADDRSTRLEN], serves[SERVES_MAX];
	uint32_t mask = mask_of(lan->length);
	bool changed;

	if (!lan->dhcp)
		return;
	if (!unit_is(DNSMASQ, "LoadState", "loaded")) {
		up_note(up, "the LAN has no DHCP from here: install dnsmasq and repeat this, or "
			"set its devices up with the router %s", show_ipv4(text, lan->address));
		return;
	}
	if (!dnsmasq_reads_ours()) {
		up_note(up, "the LAN has no DHCP from here: add conf-dir=/etc/dnsmasq.d to "
			"/etc/dnsmasq.conf, and repeat this");
		return;
	}
	show_ipv4(text, (lan->address & mask) + 1);
	show_ipv4(end, (lan->address | ~mask) - 1);
	dnsmasq_serves(serves, lan);
	changed = add_file(up, plan, DNSMASQ_FILE, dnsmasq, serves, text, end);
	add(plan, reader_plan(up, DNSMASQ, "restart", changed));
}

/* An accept of our table's chains doesn't overrule a drop of another table's. */
static void look_at_firewalls(struct up *up, const struct lan *lan)
{
	const char *name = NULL;

	if (files_say("/etc/ufw/ufw.conf", "^ENABLED=yes", ""))
		name = "ufw";
	else if (unit_is("firewalld.service", "ActiveState", "active"))
		name = "firewalld";
	if (name)
		up_note(up, "%s is on: it has to let TCP port %u, DHCP and DNS in from %s, and "
			"forward what comes from there", name, PROXY_PORT, lan->name);
	if (unit_is("docker.service", "ActiveState", "active"))
		up_note(up, "docker may drop what is forwarded, all but TCP from the LAN: iptables "
			"-I DOCKER-USER -i %s -j ACCEPT; iptables -I DOCKER-USER -o %s -m conntrack "
			"--ctstate RELATED,ESTABLISHED -j ACCEPT, at each boot", lan->name,
			lan->name);
}

static bool is_forwarding(void)
{
	FILE *f = fopen(FORWARD, "r");
	bool on = f && fgetc(f) == '1';

	if (f)
		fclose(f);
	return on;
}

static int set_forwarding(bool on)
{
	FILE *f = fopen(FORWARD, "w");
	int err = !f || fputs(on ? "1\n" : "0\n", f) < 0 ? -errno : 0;

	if (f && fclose(f) && !err)
		err = -errno;
	return err;
}

static json_t *forwarding_plan(const struct up *up, const struct lan *lan, bool known)
{
	char text[INET_ADDRSTRLEN];

	if (known && up->complete && is_forwarding())
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:i, s:b, s:b, s:b}", "what", "gateway", "lan", lan->name,
			 "address", show_ipv4(text, lan->address), "length", lan->length,
			 "own", lan->own, "dhcp", lan->dhcp, "before", is_forwarding());
}

void gateway_plan(struct up *up, json_t *plan)
{
	const json_t *old = up_step_of(up, "gateway", "");
	bool given = options.given & OPT_GATEWAY, changed;
	char text[INET_ADDRSTRLEN];
	struct lan lan = { };

	if (!given && !old)
		return;
	if ((given && parse_lan(up, &lan, options.gateway)) || check_machine(up) ||
	    (old ? take_lan(up, &lan, old) : check_lan(up, &lan)))
		return;
	plan_address(up, plan, &lan);
	add_file(up, plan, SYSCTL_FILE, "%snet.ipv4.ip_forward = 1\n", BY);
	add(plan, forwarding_plan(up, &lan, old));
	changed = add_file(up, plan, RULES_FILE, rules, lan.name, show_ipv4(text, lan.address),
			   PROXY_PORT);
	changed |= add_file(up, plan, UNITS RULES_UNIT, "%s", rules_unit);
	changed |= !rules_are_loaded();
	add(plan, unit_plan(up, RULES_UNIT, changed));
	plan_dhcp(up, plan, &lan);
	look_at_firewalls(up, &lan);
}

/* --- the step --- */

int gateway_carry_out(struct up *up, json_t *step)
{
	int err = up->dry_run ? 0 : set_forwarding(true);

	if (err)
		return up_fail(up, err == -EACCES || err == -EPERM || err == -EROFS ?
			       NOT_PERMITTED : FAILED, FORWARD " can't be set: %s", strerror(-err));
	up_say(up, "make", "made", "this the gateway of %s, %s: its TCP goes to a proxy at port "
	       "%u, UDP out through one link, its IPv6 is refused", up_string(step, "lan"),
	       up_string(step, "address"), PROXY_PORT);
	return DONE;
}

/*
 * Who else may have come to need forwarding: a file that sets it, or an interface that leads to no
 * default route, as one of containers, machines, a VPN's clients or a hotspot's. Else "".
 */
static void others_forward(char who[IF_NAMESIZE], const char *lan)
{
	static const char set[] = "^[ \t-]*net[./]ipv4[./]ip_forward[ \t]*=[ \t]*1";
	static const char * const files[] = { "/etc/sysctl.conf", "/etc/sysctl.d/*.conf",
					      "/run/sysctl.d/*.conf", "/usr/lib/sysctl.d/*.conf" };
	struct interfaces interfaces = { };

	*who = 0;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (files_say(files[i], set, SYSCTL_FILE))
			snprintf(who, IF_NAMESIZE, "sysctl.d");
	interfaces_read(&interfaces);
	for (size_t i = 0; i < interfaces.count && !*who; i++) {
		const struct interface *one = &interfaces.at[i];

		if (!(one->flags & IFF_LOOPBACK) && one->flags & IFF_UP &&
		    strcmp(one->name, lan) && has_ipv4(one) && !is_link(&interfaces, one))
			snprintf(who, IF_NAMESIZE, "%s", one->name);
	}
	interfaces_free(&interfaces);
}

int gateway_undo(struct up *up, json_t *step)
{
	char who[IF_NAMESIZE];
	int err = 0;

	if (up_flag(step, "before") || !is_forwarding())
		return DONE;
	others_forward(who, up_string(step, "lan"));
	if (*who) {
		up_note(up, "left net.ipv4.ip_forward = 1, which %s may need", who);
		return DONE;
	}
	if (!up->dry_run)
		err = set_forwarding(false);
	if (err)
		return up_stays(up, FORWARD " can't be set: %s", strerror(-err));
	up_say(up, "stop", "stopped", "forwarding IPv4");
	return DONE;
}
