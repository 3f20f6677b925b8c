/* SPDX-License-Identifier: GPL-2.0 */
'use strict';
'require dom';
'require fs';
'require poll';
'require ui';
'require view';

/*
 * What pamsctl(8) says of links, connections and schedulers. What it says is only ever a child in an array: LuCI takes another
 * string for HTML.
 */
const PAMSCTL = '/usr/sbin/pamsctl';
const EVERY_S = 5, SHOWN_MOST = 100;

const scaled = (number, units) => {
	let i = 0;
	while (number >= 999.5 && i < units.length - 1) { number /= 1000; i++; }
	return number.toFixed(number < 10 && i ? 1 : 0) + ' ' + units[i];
};
const rate = byteps => byteps === undefined ? '-' : scaled(byteps * 8, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s']);
const bytes = count => scaled(count, ['B', 'kB', 'MB', 'GB', 'TB']);
const time = us => us ? (us / 1000).toFixed(us < 10000 ? 1 : 0) + ' ms' : '-';
const place = (address, port) => (address.includes(':') ? `[${address}]` : address) + ':' + port;
const lines = texts => texts.map(text => E('div', {}, [ text ]));

/* pamsctl's answer; or null, and why there is none, in a line, in problems. */
async function ask(problems, ...words) {
	let result, answer = null;

	try {
		result = await fs.exec(PAMSCTL, [ ...words, '--json' ]);
	} catch (error) {
		problems.add(error.name === 'UnsupportedError' ?
			_('pamsctl %s says more than can be shown here').format(words.join(' ')) :
			_('pamsctl can’t be run: %s').format(error.message));
		return null;
	}
	try {
		answer = JSON.parse(result.stdout);
	} catch (error) { /* as null, below */ }
	if (answer === null || typeof answer !== 'object') {
		problems.add(_('pamsctl %s: no answer, exit status %d. %s').format(words.join(' '), result.code,
			(result.stderr || '').split('\n')[0]));
		return null;
	}
	if (!answer.error)
		return answer;
	problems.add(answer.error);
	return null;
}

/* All that changes by itself. */
async function look() {
	const problems = new Set();
	const [ links, connections, scheduler ] = await Promise.all([
		ask(problems, 'links', 'show'), ask(problems, 'links', 'conn'), ask(problems, 'sched', 'show')
	]);

	return { problems, links, connections, scheduler };
}

/* Each cell is an array of children. */
function table(heads, rows, otherwise) {
	if (!rows.length)
		return E('p', {}, [ otherwise ]);
	return E('table', { 'class': 'table' }, [
		E('tr', { 'class': 'tr table-titles' }, heads.map(head => E('th', { 'class': 'th' }, [ head ]))),
		...rows.map(cells => E('tr', { 'class': 'tr' }, cells.map((cell, i) =>
			E('td', { 'class': 'td', 'data-title': heads[i] }, cell))))
	]);
}

const alerts = texts => [ ...texts ].map(text => E('div', { 'class': 'alert-message warning' }, [ text ]));

function linkTable(links) {
	const family = address => address.address.includes(':') ? 6 : 4;
	const all = links.flatMap(link => link.addresses);
	/* whose connections somebody chose a link for, so that the routes don't */
	const chosen = new Set(all.filter(address => (address.first || []).includes('default')).map(family));
	const begins = address => (address.first || []).length ? address.first.join(', ') :
		address.first_by_routes && !chosen.has(family(address)) ? _('by the routes') : null;

	return table([ _('Link'), _('State'), _('Addresses'), _('Connections begin here'), _('Round trip'), _('Sending'),
		_('Receiving'), _('Subflows') ],
		links.map(link => {
			const own = link.addresses.filter(address => address.state !== 'no address' && !address.deprecated);

			return [
				[ link.dev ],
				[ E('strong', {}, [ link.state ]), ...lines([ ...(link.why ? [ link.why ] : []),
					...(link.fix || []).map(fix => '→ ' + fix) ]) ],
				lines(own.map(address => address.address +
					(address.state && address.state !== link.state ? ', ' + address.state : '') +
					(address.backup ? ', ' + _('backup') : ''))),
				lines(own.map(begins).filter(text => text !== null)),
				[ time(link.srtt_us) ],
				[ rate(link.sending_byteps) ],
				[ rate(link.receiving_byteps) ],
				[ link.subflows === undefined ? '-' : link.subflows ]
			];
		}), _('There is no link.'));
}

function connectionTable(connections) {
	const flows = connections.flatMap(connection =>
		connection.subflows.map(flow => ({ token: connection.token, ...flow })));
	const more = flows.length - SHOWN_MOST;

	return E('div', {}, [
		table([ _('Connection'), _('Link'), _('From'), _('To'), _('Round trip'), _('Sending'), _('Receiving'), _('Sent'),
			_('Received') ],
			flows.slice(0, SHOWN_MOST).map(flow => [
				[ flow.token ],
				[ flow.dev + (flow.backup ? ', ' + _('backup') : '') ],
				[ place(flow.local_address, flow.local_port) ],
				[ place(flow.remote_address, flow.remote_port) ],
				[ time(flow.srtt_us) ],
				[ rate(flow.sending_byteps) ],
				[ rate(flow.receiving_byteps) ],
				[ bytes(flow.sent_bytes) ],
				[ bytes(flow.received_bytes) ]
			]), _('No MPTCP connection is open.')),
		E('p', {}, [ more > 0 ? _('And %d more subflows.').format(more) : '' ])
	]);
}

function schedulerText(scheduler) {
	if (!scheduler.there)
		return _('%s is chosen, but not loaded: new sockets use %s.').format(scheduler.chosen, scheduler.in_use);
	return _('New sockets use %s.').format(scheduler.in_use) + (scheduler.module_loaded ? '' :
		' ' + _('The module mptcp_pams isn’t loaded: there are only the kernel’s own schedulers.'));
}

/* What is in order is counted, the others are told, the worst first. */
function findingTable(findings) {
	const wrong = findings.filter(one => one.grade !== 'ok').sort((one, other) => one.grade.localeCompare(other.grade));

	return E('div', {}, [
		table([ _('Grade'), _('What'), _('Finding') ], wrong.map(one => [
			[ one.grade ], [ one.what ], [ one.text, ...lines(one.advice ? [ '→ ' + one.advice ] : []) ]
		]), ''),
		E('p', {}, [ _('%d checks found nothing.').format(findings.length - wrong.length) ])
	]);
}

return view.extend({
	load: () => look(),

	render(first) {
		const [ problems, links, connections, scheduler, said, findings ] = Array.from({ length: 6 }, () => E('div'));
		const select = E('select', { 'class': 'cbi-input-select' });
		const writes = L.hasViewPermission() ? {} : { 'disabled': '' };
		let offered = '';

		/* Only when there are others: it may be open. */
		const offer = async now => {
			if (now.available.join() === offered)
				return;
			offered = now.available.join();
			const known = now.module_loaded ? await ask(new Set(), 'sched', 'list') || [] : [];
			dom.content(select, now.available.map(name => {
				const one = known.find(scheduler => scheduler.name === name);
				return E('option', { 'value': name }, [ name + (one && one.description ? ': ' + one.description : '') ]);
			}));
			select.value = now.in_use;
		};
		const draw = async now => {
			try {
				dom.content(links, now.links ? [ linkTable(now.links) ] : []);
				dom.content(connections, now.connections ? [ connectionTable(now.connections) ] : []);
				dom.content(scheduler, now.scheduler ? [ schedulerText(now.scheduler) ] : []);
				if (now.scheduler)
					await offer(now.scheduler);
			} catch (error) {
				now.problems.add(_('pamsctl says what this page doesn’t know: is it of another version? %s').format(error.message));
			}
			dom.content(problems, alerts(now.problems));
		};
		/* What was done, or why it wasn't. */
		const set = async () => {
			const why = new Set();
			const done = await ask(why, 'sched', 'set', select.value);

			dom.content(said, done ? [ _('%s: for sockets made from now on, until the device is started again. Restart servers that are to use it.')
				.format(done.chosen) ] :
				alerts(why));
			await draw(await look());
		};
		const check = async () => {
			const why = new Set();
			const answer = await ask(why, 'doctor');

			dom.content(findings, answer ? [ findingTable(answer) ] : alerts(why));
		};
		const button = (text, action, more) => E('button', { 'class': 'cbi-button cbi-button-action', 'type': 'button',
			'click': ui.createHandlerFn(this, action), ...more }, [ text ]);
		const section = (title, ...nodes) => E('div', { 'class': 'cbi-section' }, [ E('h3', {}, [ title ]), ...nodes ]);

		draw(first);
		check();
		poll.add(() => look().then(draw), EVERY_S);
		return E('div', {}, [
			E('h2', {}, [ _('Multipath TCP') ]),
			problems,
			section(_('Links'), links),
			section(_('Connections'), connections),
			section(_('Scheduler'), scheduler, select, ' ', button(_('Use this one'), set, writes), said),
			section(_('What pamsctl doctor finds'), findings, button(_('Check again'), check))
		]);
	},

	handleSaveApply: null,
	handleSave: null,
	handleReset: null
});
