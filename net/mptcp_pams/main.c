// SPDX-License-Identifier: GPL-2.0
/* mptcp_pams: packet schedulers for Multipath TCP. Load and unload. */
#define pr_fmt(fmt) "mptcp_pams: " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <linux/net.h>
#include <net/net_namespace.h>

#include "netlink.h"
#include "pams.h"

/* Check on a new socket that the running kernel is the one this module was built for. */
static int __init main_check_kernel(void)
{
	struct socket *sock;
	int err;

	err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_MPTCP,
			       &sock);
	if (err == -ENOPROTOOPT) {
		pr_err("MPTCP is switched off here: sysctl -w net.mptcp.enabled=1, then load again\n");
		return err;
	}
	if (err) {
		pr_err("no MPTCP socket can be made (%pe): this kernel needs CONFIG_MPTCP\n",
		       ERR_PTR(err));
		return err;
	}
	err = msk_check(sock);
	sock_release(sock);
	return err;
}

static int __init mptcp_pams_init(void)
{
	int err;

	err = pams_symbols_resolve();
	if (err)
		return err;

	/* first, since the other check writes into a socket */
	err = pams_layout_check();
	if (err)
		return err;

	err = main_check_kernel();
	if (err)
		return err;

	err = pams_conn_init(pams_watch_setup);
	if (err)
		return err;

	err = pams_watch_init();
	if (err)
		goto err_conn;

	err = pams_net_init();
	if (err)
		goto err_watch;

	err = pams_netlink_init();
	if (err)
		goto err_net;

	err = pams_sched_register();
	if (err)
		goto err_netlink;

	pams_bpf_init();
	return 0;

err_netlink:
	pams_netlink_exit();
err_net:
	pams_net_exit();
err_watch:
	pams_watch_exit();
err_conn:
	pams_conn_exit();
	return err;
}

static void __exit mptcp_pams_exit(void)
{
	pams_sched_unregister();
	pams_conn_wait();
	pams_netlink_exit();
	pams_net_exit();
	pams_watch_exit();
	pams_conn_exit();
	pams_sched_exit();
}

module_init(mptcp_pams_init);
module_exit(mptcp_pams_exit);

MODULE_AUTHOR("The mptcp-pams developers");
MODULE_DESCRIPTION("MPTCP packet schedulers:" PAMS_SCHEDS(PAMS_SCHED_WORD));
MODULE_VERSION(PAMS_VERSION);
MODULE_LICENSE("GPL");
