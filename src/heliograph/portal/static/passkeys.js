// Forms that a passkey fills in. The service says what to sign when the button is pressed, and the
// answer goes along with the form. Octets travel as base64url (WebAuthn, section 5.1.8).
const octets = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
const base64url = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function readable(options) {
  const found = { ...options, challenge: octets(options.challenge) };
  if (options.user) found.user = { ...options.user, id: octets(options.user.id) };
  for (const list of ["excludeCredentials", "allowCredentials"]) {
    if (options[list]) found[list] = options[list].map((each) => ({ ...each, id: octets(each.id) }));
  }
  return found;
}

function answer(credential) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[name]) response[name] = base64url(credential.response[name]);
  }
  return JSON.stringify({ id: credential.id, rawId: base64url(credential.rawId), type: credential.type, response });
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const said = form.querySelector("[data-passkey-said]");
  const say = (text) => {
    said.textContent = text;
    said.hidden = false;
  };
  if (!window.PublicKeyCredential) {
    say(form.dataset.cannot);
    continue;
  }
  form.querySelector("[data-passkey-does]").hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const asked = await fetch(form.dataset.options);
      if (asked.ok) {
        const { publicKey } = await asked.json();
        form.elements.answer.value = answer(await navigator.credentials[form.dataset.passkey]({ publicKey: readable(publicKey) }));
      }
      form.submit(); // where it was refused, the service says why
    } catch (error) {
      say(error.name === "InvalidStateError" ? form.dataset.hasOne : form.dataset.nothingSigned);
    }
  });
}
