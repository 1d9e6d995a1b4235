// Sends a text with a client that openapi-typescript made, and prints the results.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

declare const process: { env: Record<string, string> };

const client = createClient<paths>({ baseUrl: process.env.API_URL, headers: { Authorization: `Bearer ${process.env.API_KEY}` } });

async function send(form: components['schemas']['SendForm']) {
  return client.POST('/sms/send', { body: form, params: { header: { 'Idempotency-Key': crypto.randomUUID() } } });
}

const form = { sender: 'SANDBOX', message: 'Your order 1042 is on its way.', recipients: ['233201234567'] };
const { data: sent } = await send(form);
const id: string = sent!.data.message_ids[0]!;
const { data: found } = await client.GET('/messages/{id}', { params: { path: { id } } });
const status: 'queued' | 'sent' | 'delivered' | 'failed' = found!.data.timeline[0].status;

const { error: refused } = await send({ ...form, sender: 'NOBODY' });
const { error: short } = await send({ ...form, recipients: ['233201234004'] });
const needed = short && 'required' in short.error ? short.error.required : null;

console.log(JSON.stringify({ id, status, refused: refused!.error.reason, needed }));
