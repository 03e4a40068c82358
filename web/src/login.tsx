// The form for the token.
import { useState } from "preact/hooks";
import { stream } from "./api";

export function Login() {
  const [error, setError] = useState("");
  return (
    <main class="login">
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          const form = event.currentTarget;
          const token = new FormData(form).get("token");
          const response = await fetch("/api/v1/login", {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ token }),
          }).catch(() => null);
          if (response?.ok) {
            form.reset();
            stream.connection = "connecting";
            stream.start();
          } else {
            const body = await response?.json().catch(() => ({}));
            setError(body?.error ?? "The server cannot be reached.");
          }
        }}
      >
        <h1>informer</h1>
        <label>
          Token
          <input type="password" name="token" autocomplete="current-password" required autofocus />
        </label>
        <button type="submit" class="primary">Log in</button>
        {error && <p class="failed" role="alert">{error}</p>}
        <p class="muted">The token is the value of INFORMER_WEB_TOKEN or --web-token of the server. Everyone with the token sees what the server may read.</p>
      </form>
    </main>
  );
}
