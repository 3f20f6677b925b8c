// SPDX-License-Identifier: GPL-2.0
/* overview - what pamsctl shows without a command: all paths and connections */
#include <errno.h>

#include "flows.h"
#include "pamsctl.h"

struct overview {
	json_t *paths, *conns;
	struct flows flows;
};

static int add_path(const struct pams_path *path, void *arg)
{
	struct overview *all = arg;

	if (!options.json && !json_array_size(all->paths))
		puts("Paths:");
	if (!options.json)
		path_print(path);
	return append(all->paths, path_json(path));
}

static int add_conn(const struct pams_conn *conn, void *arg)
{
	struct overview *all = arg;

	if (!options.json && !json_array_size(all->conns))
		puts("Connections:");
	if (!options.json)
		conn_lines(conn, &all->flows, -1, terminal_width(), line_to_stdout,
			   NULL);
	return append(all->conns, conn_json(conn, &all->flows));
}

int overview(void)
{
	struct overview all = {
		.paths = json_array(), .conns = json_array(),
	};
	struct pams_nl *nl = NULL;
	int err, status = DONE;

	flows_read(&all.flows);	/* without them it shows less */
	err = pams_nl_open(&nl);
	if (!err)
		err = pams_nl_path_dump(nl, add_path, &all);
	if (err >= 0 && !options.json)
		puts(json_array_size(all.paths) ? "" :
		     "Paths: none is reported\n");
	if (err >= 0)
		err = pams_nl_conn_dump(nl, add_conn, &all);
	if (err < 0)
		status = refuse_kernel(nl, "the module can't be asked", err);
	else if (options.json)
		status = print_json(json_pack("{s:O, s:O}", "paths", all.paths,
					      "conns", all.conns));
	else if (!json_array_size(all.conns))
		puts("Connections: none has one of the module's schedulers");
	json_decref(all.paths);
	json_decref(all.conns);
	flows_free(&all.flows);
	pams_nl_close(nl);
	return status;
}
