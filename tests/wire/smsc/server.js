// An SMSC for the wire tests: the npm package "smpp" speaks the protocol, this file only decides what to say and keeps what it heard.
//
//   node server.js [--key=FILE --cert=FILE]
//
// prints {"port", "control"} once both ports listen, and ends with its standard input. The control port speaks JSON over HTTP:
//
//   POST /reset              forgets everything, back to DEFAULTS, drops all connections
//   POST /behave {...}       changes some of DEFAULTS
//   GET  /log                everything since the last reset
//   GET  /wait?what=submits&count=3   answers with the log once it holds that many (or after 10 s)
//   POST /deliver {pdu}      sends a deliver_sm to a session that receives
//   POST /write {text, ...}  sends the text of a handset there, in the alphabet and the form that `write` below is told
//   POST /enquire, /unbind, /drop     to every session: enquire_link, unbind, the end of the TCP connection
'use strict';
const http = require('http');
const fs = require('fs');
const smpp = require('smpp');

const DEFAULTS = {
  password: null, // a bind with another one is answered 0x0E
  bind_statuses: [], // the first binds are answered with these
  statuses: {}, // by recipient: the status of the answer
  next_statuses: [], // the next submits are answered with these
  nack: false, // answer with generic_nack instead of submit_sm_resp
  mute: false, // answer no submit_sm
  deaf: false, // answer nothing at all, enquire_link neither
  delay_ms: 0, // before the answer
  tps: 0, // more submits than this within a second are answered 0x58
  receipts: [], // templates of receipts for each accepted submit that asks for one
};

let behave, log, counters, arrivals, sessions = new Set(), waiters = [];

function reset() {
  for (const session of sessions) session.destroy();
  behave = {...DEFAULTS};
  counters = {id: 0, session: 0};
  arrivals = [];
  log = {binds: [], submits: [], acknowledged: [], nacks: [], enquiries: 0, enquiry_answers: 0, unbinds: 0, unbind_answers: 0, closed: 0,
    window_peak: 0};
}

function count(what) {
  return Array.isArray(log[what]) ? log[what].length : log[what];
}

function changed() {
  waiters = waiters.filter(waiter => !waiter());
}

function hex(buffer) {
  return Buffer.isBuffer(buffer) ? buffer.toString('hex') : null;
}

// What the library read of a submit_sm, in JSON.
function heard(pdu, session) {
  const inPayload = pdu.message_payload !== undefined;
  const content = inPayload ? pdu.message_payload : pdu.short_message;
  const header = content.udh ? Buffer.concat(content.udh) : null;
  return {
    session: session.number, at_ms: performance.now(), sequence: pdu.sequence_number, sender: pdu.source_addr, recipient: pdu.destination_addr,
    source_ton_npi: [pdu.source_addr_ton, pdu.source_addr_npi], dest_ton_npi: [pdu.dest_addr_ton, pdu.dest_addr_npi],
    text: content.message, in_payload: inPayload, short_message_empty: inPayload ? pdu.short_message.message.length === 0 : null,
    udh: hex(header), esm_class: pdu.esm_class, data_coding: pdu.data_coding, registered_delivery: pdu.registered_delivery,
    priority_flag: pdu.priority_flag, replace_if_present: pdu.replace_if_present_flag,
    validity_s: pdu.validity_period instanceof Date ? (pdu.validity_period - Date.now()) / 1000 : null,
    user_message_reference: pdu.user_message_reference, sar_msg_ref_num: pdu.sar_msg_ref_num, sar_total_segments: pdu.sar_total_segments,
    sar_segment_seqnum: pdu.sar_segment_seqnum,
  };
}

// Ids as carriers print them: the answer's form, and forms that only receipts have.
function ids() {
  const number = 0xa0000000 + ++counters.id;
  return {id: number.toString(16), HEX: number.toString(16).toUpperCase(), dec: String(number), padded: number.toString(16).padStart(16, '0')};
}

function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function receive(template, submit, values) {
  const pdu = {source_addr: submit.destination_addr, destination_addr: submit.source_addr, esm_class: 4, ...template.pdu};
  const text = fill(template.text || '', values);
  if (pdu.data_coding === undefined) pdu.data_coding = 3;
  if (template.payload) Object.assign(pdu, {short_message: '', message_payload: Buffer.from(text, 'latin1')});
  else if (pdu.data_coding === 8) pdu.short_message = {message: text};
  else pdu.short_message = Buffer.from(text, 'latin1');
  if (template.receipted_message_id) pdu.receipted_message_id = fill(template.receipted_message_id, values);
  if (template.network_error_code) pdu.network_error_code = Buffer.from(template.network_error_code, 'hex');
  for (let i = 0; i < (template.times || 1); i++) deliver(pdu);
}

function deliver(pdu, command = 'deliver_sm') {
  const receiver = [...sessions].find(session => session.receives);
  if (receiver) receiver[command]({...pdu}, answer => { log.acknowledged.push({status: answer.command_status, command: answer.command}); changed(); });
}

// How a part of a text says which one it is. The library writes the octets of the message, and sets esm_class where there is a header.
const REFERENCE = 7;
const FORMS = {
  plain: message => ({short_message: {message}}),
  udh: (message, number, total) => ({short_message: {udh: Buffer.from([5, 0, 3, REFERENCE, total, number]), message}}),
  udh16: (message, number, total) => ({short_message: {udh: Buffer.from([6, 8, 4, 1, REFERENCE, total, number]), message}}),
  sar: (message, number, total) => ({short_message: {message}, sar_msg_ref_num: REFERENCE, sar_total_segments: total, sar_segment_seqnum: number}),
  payload: message => ({short_message: '', message_payload: {message}}),
  data_sm: message => ({message_payload: {message}}),
};

// Without a data_coding the library chooses one. `cut` counts UTF-16 units, so that it may divide a pair; `order` has the numbers of the parts, as they come.
function write({text, form = 'plain', cut = text.length, order, pdu}) {
  const parts = [];
  for (let at = 0; at < text.length; at += cut) parts.push(text.slice(at, at + cut));
  for (const number of order || parts.map((_, index) => index + 1)) {
    deliver({...pdu, ...FORMS[form](parts[number - 1], number, parts.length)}, form === 'data_sm' ? 'data_sm' : 'deliver_sm');
  }
}

function statusOf(pdu) {
  const now = performance.now();
  arrivals = arrivals.filter(at => now - at < 1000);
  arrivals.push(now);
  if (behave.next_statuses.length) return behave.next_statuses.shift();
  if (behave.tps && arrivals.length > behave.tps) { arrivals.pop(); return 0x58; }
  return behave.statuses[pdu.destination_addr] || 0;
}

function onSubmit(session, pdu) {
  session.outstanding++;
  log.window_peak = Math.max(log.window_peak, session.outstanding);
  const status = statusOf(pdu), values = ids();
  log.submits.push({...heard(pdu, session), status});
  changed();
  if (behave.mute || behave.deaf) return;
  const wanted = status === 0 && (pdu.registered_delivery & 1) ? behave.receipts : [];
  const answer = () => {
    session.outstanding--;
    for (const template of wanted.filter(template => template.before)) receive(template, pdu, values);
    if (behave.nack) session.send(new smpp.PDU('generic_nack', {command_status: status, sequence_number: pdu.sequence_number}));
    else session.send(pdu.response(status ? {command_status: status} : {message_id: values.id}));
    for (const template of wanted.filter(template => !template.before)) receive(template, pdu, values);
  };
  if (behave.delay_ms) setTimeout(answer, behave.delay_ms); else answer();
}

function onBind(session, pdu) {
  const status = behave.bind_statuses.length ? behave.bind_statuses.shift() : behave.password !== null && pdu.password !== behave.password ? 0x0e : 0;
  log.binds.push({command: pdu.command, system_id: pdu.system_id, system_type: pdu.system_type, interface_version: pdu.interface_version, status});
  session.receives = status === 0 && pdu.command !== 'bind_transmitter';
  session.send(pdu.response(status ? {command_status: status} : {system_id: 'smsc'}));
  changed();
}

function onSession(session) {
  Object.assign(session, {number: ++counters.session, outstanding: 0, receives: false});
  sessions.add(session);
  session.on('error', () => session.destroy());
  session.on('close', () => { sessions.delete(session); log.closed++; changed(); });
  for (const command of ['bind_transceiver', 'bind_transmitter', 'bind_receiver']) session.on(command, pdu => onBind(session, pdu));
  session.on('submit_sm', pdu => onSubmit(session, pdu));
  session.on('enquire_link', pdu => { log.enquiries++; changed(); if (!behave.deaf) session.send(pdu.response()); });
  session.on('unbind', pdu => { log.unbinds++; changed(); if (!behave.deaf) { session.send(pdu.response()); session.close(); } });
  session.on('generic_nack', pdu => { log.nacks.push(pdu.command_status); changed(); });
}

const commands = {
  reset: () => reset(),
  behave: body => Object.assign(behave, body),
  deliver: body => deliver({...body, short_message: Buffer.from(body.short_message || '', 'latin1')}),
  write: body => write(body),
  enquire: () => { for (const session of sessions) session.enquire_link({}, () => { log.enquiry_answers++; changed(); }); },
  unbind: () => { for (const session of sessions) session.unbind({}, () => { log.unbind_answers++; changed(); session.close(); }); },
  drop: () => { for (const session of sessions) session.destroy(); },
};

function onRequest(request, response) {
  const url = new URL(request.url, 'http://smsc');
  const answer = () => { response.setHeader('Content-Type', 'application/json'); response.end(JSON.stringify(log)); return true; };
  let text = '';
  request.on('data', data => { text += data; });
  request.on('end', () => {
    if (url.pathname === '/log') return answer();
    if (url.pathname !== '/wait') { commands[url.pathname.slice(1)](text ? JSON.parse(text) : {}); return answer(); }
    const enough = () => count(url.searchParams.get('what')) >= Number(url.searchParams.get('count'));
    if (enough()) return answer();
    const waiter = () => enough() && (clearTimeout(timer), answer());
    const timer = setTimeout(() => { waiters = waiters.filter(other => other !== waiter); answer(); }, 10000);
    waiters.push(waiter);
  });
}

const given = name => (process.argv.find(argument => argument.startsWith(`--${name}=`)) || '').slice(name.length + 3);
const tls = given('key') ? {key: fs.readFileSync(given('key')), cert: fs.readFileSync(given('cert'))} : {};
reset();
const smsc = smpp.createServer(tls, onSession);
smsc.on('tlsClientError', () => {});
const control = http.createServer(onRequest);
smsc.listen(Number(given('port') || 0), '127.0.0.1', () => control.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({port: smsc.address().port, control: control.address().port}));
}));
process.stdin.resume().on('end', () => process.exit(0));
