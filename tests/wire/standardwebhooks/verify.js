// Verifies webhooks with the npm package "standardwebhooks": one JSON document a line in, {"secret", "body", "headers"}; one a line out, true or false.
'use strict';
const readline = require('readline');
const { Webhook, WebhookVerificationError } = require('standardwebhooks');

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const { secret, body, headers } = JSON.parse(line);
  let verified = true;
  try {
    new Webhook(secret).verify(body, headers);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    verified = false;
  }
  process.stdout.write(`${verified}\n`);
});
