/* SPDX-License-Identifier: GPL-2.0 */
'use strict';
'require form';
'require uci';
'require view';

/* /etc/config/pamsd, as the init script of the package pamsd reads it. What an option means: pamsd.conf(5). */
return view.extend({
	render() {
		const map = new form.Map('pamsd', _('Multipath TCP: pamsd'),
			_('pamsd keeps a path for each link, and reports links to servers. A key comes from pamsd --genkey: the same file, of ' +
			  'mode 600, on both ends. A mistake here is told in the system log, and pamsd goes on as before.'));
		let section = map.section(form.NamedSection, 'global', 'pamsd');
		const option = (kind, name, title, more) => Object.assign(section.option(kind, name, title), more);
		const sections = (type, title) => {
			section = Object.assign(map.section(form.GridSection, type, title),
				{ addremove: true, anonymous: false, nodescriptions: true });
		};

		option(form.Flag, 'enabled', _('Run pamsd'));
		/* a section without options */
		option(form.Flag, '_paths', _('Keep a path for each link'), {
			cfgvalue: () => uci.get('pamsd', 'paths') ? '1' : '0',
			write: () => uci.get('pamsd', 'paths') || uci.add('pamsd', 'paths', 'paths'),
			remove: () => uci.get('pamsd', 'paths') && uci.remove('pamsd', 'paths')
		});
		option(form.Flag, 'own_file', _('Use /etc/pamsd/pamsd.conf instead of all this'));

		sections('server', _('Servers that are told of this device’s links'));
		option(form.DynamicList, 'address', _('Addresses, or a name'));
		option(form.Value, 'key_file', _('File with the key'), { placeholder: '/etc/pamsd/server.key' });
		option(form.DynamicList, 'via', _('Interfaces that reports leave through'));

		sections('interface', _('Interfaces to report about, by their names'));
		option(form.Value, 'device', _('Device, if the name is not an interface’s'), { placeholder: 'phy0-ap0' });
		option(form.DynamicList, 'about', _('Paths: source, or prefixes'), { datatype: 'or("source", cidr)' });
		const measure = option(form.ListValue, 'measure', _('Measured by'), { optional: true });
		['qdisc', 'station', 'tcp', 'pamsplit', 'none'].forEach(source => measure.value(source));
		option(form.Flag, 'carrier', _('Report when the link goes down'), { default: '1' });
		option(form.Flag, 'local', _('Tell this device, too'), { modalonly: true });
		option(form.Value, 'port', _('TCP port, if not all'), { datatype: 'port', modalonly: true });
		option(form.Value, 'delay_us', _('Delay of the pipe in µs, where this device ends TCP'),
			{ datatype: 'uinteger', modalonly: true });
		option(form.DynamicList, 'plugin', _('Program that predicts losses, and its arguments'),
			{ placeholder: 'pams-predict', modalonly: true });

		sections('peer', _('Machines that may report to this one'));
		option(form.Value, 'key_file', _('File with the key'));
		option(form.DynamicList, 'prefixes', _('Addresses whose paths they may report'), { datatype: 'cidr' });
		option(form.Flag, 'source', _('And the one that their reports come from'));
		option(form.Value, 'rate', _('Reports a second'), { datatype: 'range(10, 10000)', placeholder: '200', modalonly: true });

		return map.render();
	}
});
