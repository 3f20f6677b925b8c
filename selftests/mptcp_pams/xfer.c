// SPDX-License-Identifier: GPL-2.0
/*
 * xfer - request/response transfers over MPTCP, timed and checked
 *
 * The client asks on each of its connections for one transfer after the other:
 *
 *	D BYTES SEED RATE\n	download: the server answers with BYTES bytes,
 *				RATE of them a second, or, if 0, at once
 *	U BYTES SEED 0\n...	upload: BYTES bytes follow, the server answers
 *				with one byte, 'K' (intact) or 'X'
 *
 * Content is a function of the request's seed and the byte's offset, checked
 * where it arrives. The client prints one JSON object a line for each request:
 *
 *	fct_us		from the first byte of the request sent to the last
 *			byte received (download), or to the server's answer
 *	connect_us	the handshake, for the first request of a connection
 *	start_us	when the request was sent, CLOCK_MONOTONIC
 *	gap_us		of a download: the longest time between two receipts,
 *	gap_at_us	and when it began, from start_us
 *	late_us		of a paced download: the most by which a byte came later than
 *			start_us and the rate say
 *
 * All times are in microseconds, sizes in bytes. One thread, no blocking call,
 * so that a hundred connections cost no more than their bytes.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xfer.h"

struct xfer_options opt = {
	.port = "5000", .bytes = { 65536, 65536 }, .conns = 1, .requests = 1,
	.timeout_us = 60 * US_PER_S, .seed = 1,
};

void die(int status, const char *format, ...)
{
	va_list args;

	fputs("xfer: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

static const char usage[] =
"usage: xfer server [-p PORT] [-6] [--tcp] [--bind ADDRESS] [--sndbuf N] [--rcvbuf N] [--unit]\n"
"                   [--web]\n"
"       xfer client [-6] [--tcp] [options] HOST PORT\n"
"  --bytes N|MIN-MAX   size of a transfer, K, M, G = 1000, ... and Ki, Mi,\n"
"                      Gi = 1024, ... (64Ki); from a range it is drawn, evenly\n"
"                      in the logarithm\n"
"  --requests K        transfers of each connection, one after the other (1)\n"
"  --gap MS|MIN-MAX    pause between them (0)\n"
"  --dir down|up|both  direction (down); both: drawn for each request\n"
"  --conns N           connections at once (1); --stagger MS starts them apart\n"
"  --ahead             each request is sent when the one before begins; of downloads\n"
"  --cold              a new connection for each request\n"
"  --queue N           instead of --requests: connections take their requests\n"
"                      from N bytes that they share, until all is moved\n"
"  --devices A,B,...   the interface of each connection, in their order\n"
"  --rate N            downloads of N bytes a second (as fast as it goes)\n"
"  --pause-reading MS-MS   nothing is read in that time after a request\n"
"  --timeout MS        a request that takes longer has failed (60000)\n"
"  --seed N            of content and drawn sizes (1)\n"
"  --mark N            of the sockets\n"
"  --sndbuf N, --rcvbuf N   socket buffers in bytes (the kernel's choice)\n"
"  --unit              who sends a transfer tells mptcp_pams that it is one unit\n"
"  --web               a server writes what would be the header of an answer apart,\n"
"                      and hangs up behind each answer, as web servers do\n"
"  --json              one JSON object a line;  --quiet  failures only\n"
"exit code: 0 all transfers intact, 1 a failure, 2 usage\n";

static long long number(const char *name, const char *text, char **end)
{
	static const char units[] = "KMG";
	const char *unit;
	long long value, step;

	errno = 0;
	value = strtoll(text, end, 10);
	if (*end == text || errno || value < 0)
		die(2, "%s '%s': not a number", name, text);
	unit = strchr(units, **end);
	if (**end && unit) {
		step = (*end)[1] == 'i' ? 1024 : 1000;
		*end += step == 1024 ? 2 : 1;
		for (; unit >= units; unit--)
			value *= step;
	}
	return value;
}

static long long one_number(const char *name, const char *text)
{
	char *end;
	long long value = number(name, text, &end);

	if (*end)
		die(2, "%s '%s': not a number", name, text);
	return value;
}

static struct range a_range(const char *name, const char *text)
{
	char *end;
	struct range r;

	r.min = r.max = number(name, text, &end);
	if (*end == '-')
		r.max = one_number(name, end + 1);
	else if (*end)
		die(2, "%s '%s': neither N nor MIN-MAX", name, text);
	if (r.max < r.min)
		die(2, "%s '%s': the range is empty", name, text);
	return r;
}

enum { TCP = 256, BYTES, REQUESTS, GAP, DIR, CONNS, STAGGER, COLD, RATE, TIMEOUT,
       SEED, MARK, UNIT, AHEAD, SNDBUF, RCVBUF, JSON, QUIET, BIND, QUEUE, DEVICES, WEB,
       PAUSE };

static const struct option options[] = {
	{ "port", 1, 0, 'p' }, { "ipv6", 0, 0, '6' }, { "help", 0, 0, 'h' },
	{ "tcp", 0, 0, TCP }, { "bytes", 1, 0, BYTES },
	{ "requests", 1, 0, REQUESTS }, { "gap", 1, 0, GAP },
	{ "dir", 1, 0, DIR }, { "conns", 1, 0, CONNS },
	{ "stagger", 1, 0, STAGGER }, { "cold", 0, 0, COLD },
	{ "rate", 1, 0, RATE }, { "pause-reading", 1, 0, PAUSE },
	{ "timeout", 1, 0, TIMEOUT }, { "seed", 1, 0, SEED },
	{ "mark", 1, 0, MARK }, { "unit", 0, 0, UNIT },
	{ "web", 0, 0, WEB },
	{ "ahead", 0, 0, AHEAD }, { "sndbuf", 1, 0, SNDBUF }, { "rcvbuf", 1, 0, RCVBUF },
	{ "json", 0, 0, JSON }, { "quiet", 0, 0, QUIET },
	{ "bind", 1, 0, BIND }, { "queue", 1, 0, QUEUE },
	{ "devices", 1, 0, DEVICES }, { }
};

static void read_option(int o)
{
	switch (o) {
	case 'p': opt.port = optarg; break;
	case '6': opt.v6 = true; break;
	case 'h': fputs(usage, stdout); exit(0);
	case TCP: opt.tcp = true; break;
	case BYTES: opt.bytes = a_range("--bytes", optarg); break;
	case REQUESTS: opt.requests = one_number("--requests", optarg); break;
	case GAP: opt.gap_ms = a_range("--gap", optarg); break;
	case CONNS: opt.conns = one_number("--conns", optarg); break;
	case STAGGER: opt.stagger_us = 1000 * one_number("--stagger", optarg); break;
	case PAUSE: opt.pause_ms = a_range("--pause-reading", optarg); break;
	case COLD: opt.cold = true; break;
	case RATE: opt.rate_byteps = one_number("--rate", optarg); break;
	case TIMEOUT: opt.timeout_us = 1000 * one_number("--timeout", optarg); break;
	case SEED: opt.seed = one_number("--seed", optarg); break;
	case MARK: opt.mark = one_number("--mark", optarg); break;
	case AHEAD: opt.ahead = true; break;
	case UNIT: opt.unit = true; break;
	case WEB: opt.web = true; break;
	case SNDBUF: opt.sndbuf = one_number("--sndbuf", optarg); break;
	case RCVBUF: opt.rcvbuf = one_number("--rcvbuf", optarg); break;
	case JSON: opt.json = true; break;
	case QUIET: opt.quiet = true; break;
	case BIND: opt.bind = optarg; break;
	case DEVICES: opt.devs = optarg; break;
	case QUEUE:
		opt.queue = one_number("--queue", optarg);
		opt.queued = true;
		break;
	case DIR:
		if (!strcmp(optarg, "down"))
			opt.dir = DOWN;
		else if (!strcmp(optarg, "up"))
			opt.dir = UP;
		else if (!strcmp(optarg, "both"))
			opt.dir = BOTH;
		else
			die(2, "--dir '%s': down, up or both", optarg);
		break;
	default:
		fputs(usage, stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int o;

	while ((o = getopt_long(argc, argv, "p:6h", options, NULL)) != -1)
		read_option(o);
	argv += optind;
	argc -= optind;
	if (argc == 1 && !strcmp(argv[0], "server"))
		run_server();
	if (argc != 3 || strcmp(argv[0], "client"))
		die(2, "expected 'server' or 'client HOST PORT' (see --help)");
	if (opt.requests < 1 || opt.conns < 1)
		die(2, "--requests and --conns are at least 1");
	if (opt.ahead && (opt.dir != DOWN || opt.cold || opt.queued || opt.gap_ms.max))
		die(2, "--ahead: downloads of one connection without gaps");
	opt.host = argv[1];
	opt.port = argv[2];
	setvbuf(stdout, NULL, _IOLBF, 0);
	return run_client() ? 0 : 1;
}
