package program_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/program"
	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/control"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// A captured delivery of a product, signed at noon.
func captured(t *testing.T, provider, secret, body string) webhook.Request {
	t.Helper()
	scheme, ok := webhook.Lookup(provider)
	if !ok {
		t.Fatalf("no provider %s", provider)
	}
	h := http.Header{}
	if provider == "woocommerce" {
		h.Set("X-Wc-Webhook-Topic", "product.updated")
		h.Set("X-Wc-Webhook-Source", "https://shop.example.com/")
	}
	req, err := scheme.Sign(webhook.Request{Header: h, Body: []byte(body), URL: "https://hooks.example.com/hooks/pay"}, secrets.NewValue(secret), noon)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// rawHTTP is a request as it goes over the wire.
func rawHTTP(req webhook.Request, endpoint string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST /hooks/%s HTTP/1.1\r\nHost: hooks.example.com\r\n", endpoint)
	_ = req.Header.Write(&b)
	return b.String() + "\r\n" + string(req.Body)
}

func archive(requests ...webhook.Request) string {
	type pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	var entries []any
	for _, r := range requests {
		var headers []pair
		for name := range r.Header {
			headers = append(headers, pair{name, r.Header.Get(name)})
		}
		entries = append(entries, map[string]any{"startedDateTime": noon.Format(time.RFC3339), "request": map[string]any{
			"method": "POST", "url": "https://hooks.example.com/hooks/woo-shop", "headers": headers, "postData": map[string]any{"text": string(r.Body)},
		}})
	}
	raw, _ := json.Marshal(map[string]any{"log": map[string]any{"entries": entries}})
	return string(raw)
}

// writeCaptures writes the files that the examples name.
func writeCaptures(t *testing.T) {
	t.Helper()
	req := captured(t, "woocommerce", "local-woo-secret", `{"id":1}`)
	write(t, "captured.http", rawHTTP(req, "woo-shop"))
	write(t, "browser.har", archive(req, req))
	write(t, "paypal.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("none")})))
}

const wooBody = `{"id":11,"name":"Caf\u00e9","permalink":"https:\/\/shop.example.com\/11","date_modified_gmt":"2026-11-29T11:59:58"}`

func TestVerifyTellsTheCause(t *testing.T) {
	stripe := control.Endpoint{Kind: "endpoint", Name: "pay", Provider: "stripe", Tenant: "shop", Environment: "test", Secrets: []string{"ssm:hooks/pay/1"}, Events: map[string]control.EventRule{"invoice.paid": {Recipes: []string{"invoice@1"}}}}
	live := control.Endpoint{Kind: "endpoint", Name: "live", Provider: "woocommerce", Tenant: "shop", Environment: "production", Secrets: []string{"ssm:hooks/live/1"}}
	foreign := control.Endpoint{Kind: "endpoint", Name: "foreign", Provider: "woocommerce", Tenant: "another", Environment: "test", Secrets: []string{"ssm:hooks/foreign/1"}}
	const (
		stripeSecret  = "whsec_0123456789abcdefghijklmnopqrstuv"
		liveSecret    = "live-0123456789abcdef"
		foreignSecret = "foreign-0123456789abcdef"
	)
	woo := func(secret string) string { return rawHTTP(captured(t, "woocommerce", secret, wooBody), "woo-shop") }
	for _, c := range []struct {
		name, endpoint, file string
		args                 []string
		code                 int
	}{
		{"verify-newline", "woo-shop", woo("local-woo-secret") + "\n", nil, 7},
		{"verify-sound", "woo-shop", woo(secondSecret), nil, 0},
		{"verify-stale", "pay", rawHTTP(captured(t, "stripe", stripeSecret, `{"id":"evt_1","type":"invoice.paid","created":1795953590,"data":{"object":{"object":"invoice","id":"in_1"}}}`), "pay"), []string{"--now", "2026-11-29T12:20:00Z"}, 7},
		{"verify-other-environment", "woo-shop", woo(liveSecret), nil, 7},
		{"verify-foreign", "woo-shop", woo(foreignSecret), nil, 7}, // another tenant's secret is not tried
		{"verify-missing-header", "woo-shop", strings.Replace(woo("local-woo-secret"), "X-Wc-Webhook-Signature", "X-Other", 1), []string{"--header", "X-Other: 1"}, 7},
		{"verify-no-body", "woo-shop", strings.TrimSuffix(woo("local-woo-secret"), wooBody), nil, 7},
		{"verify-two-topics", "woo-shop", strings.Replace(woo(secondSecret), "\r\n\r\n", "\r\nx-wc-webhook-topic: product.updated\r\n\r\n", 1), nil, 7},
		{"verify-milliseconds", "pay", strings.Replace(rawHTTP(captured(t, "stripe", "whsec_zzzzzzzzabcdefghijklmnopqrstuv", `{"id":"evt_1","type":"invoice.paid","created":1795953590,"data":{"object":{"object":"invoice","id":"in_1"}}}`), "pay"), "t=1795953600", "t=1795953600000", 1), []string{"--now", "1795953590"}, 7},
		{"verify-unsigned", "woo-shop", "POST /hooks/woo-shop HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{}", nil, 7},
	} {
		for suffix, flags := range map[string][]string{"": nil, "-json": {"--json"}} {
			api := serveCanned(t)
			api.names(both, stripe, live, foreign)
			endpoints := api.answer["/api/endpoints"].(func() any)
			api.answer["/api/endpoints"] = func() any {
				e, ok := endpoints().(control.Endpoint)
				if !ok {
					return endpoints()
				}
				if e.Name == "woo-shop" {
					e.Tenant, e.Source, e.Events = "shop", "https://shop.example.com", map[string]control.EventRule{"product.updated": {Recipes: []string{"product-card@3"}}}
				}
				return e
			}
			for path, secret := range map[string]string{"hooks/woo-shop/2": secondSecret, "hooks/pay/1": stripeSecret, "hooks/live/1": liveSecret, "hooks/foreign/1": foreignSecret} {
				if err := vault(api.store()).Put(t.Context(), path, secrets.NewValue(secret)); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(t.TempDir(), "captured.http")
			write(t, file, c.file)
			args := append(append([]string{"verify", "--endpoint", c.endpoint, "--request", file, "--target", api.url}, c.args...), flags...)
			code, stdout, stderr := run(t, t.Context(), args...)
			if code != c.code || (code == 0) != (stderr == "") {
				t.Errorf("%s: exit %d %s%s", c.name, code, stdout, stderr)
			}
			for _, secret := range []string{"local-woo-secret", secondSecret, stripeSecret, liveSecret, foreignSecret} {
				if strings.Contains(stdout+stderr, secret) {
					t.Errorf("%s shows a secret: %s", c.name, stdout)
				}
			}
			golden(t, c.name+suffix, stdout)
		}
	}
}

func TestVerifySaysWhatItNeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	writeCaptures(t)
	req := captured(t, "woocommerce", "local-woo-secret", `{"id":1}`)
	write(t, "many.har", archive(req, req, req))
	write(t, "empty.http", "")
	write(t, "null.har", `{"log":{"entries":[{"request":null}]}}`)
	write(t, "elsewhere.sh", "curl https://hooks.example.com/hooks/woo-shop -H 'X-WC-Webhook-Topic: product.updated' --data-binary @body.json")
	write(t, "secret.txt", "local-woo-secret\n")
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"nothing", nil, 2, "--request"},
		{"no endpoint", []string{"--request", "captured.http"}, 2, "--endpoint"},
		{"a provider without a secret", []string{"--request", "captured.http", "--provider", "stripe"}, 2, "--secret-file"},
		{"a public address of an endpoint", []string{"--request", "captured.http", "--endpoint", "woo-shop", "--public-url", "https://x"}, 2, "--public-url"},
		{"an unknown provider", []string{"--request", "captured.http", "--provider", "magento", "--secret-file", "secret.txt"}, 2, "magento"},
		{"no such file", []string{"--request", "none.http", "--endpoint", "woo-shop"}, 2, "none.http"},
		{"no such body", []string{"--request", "captured.http", "--body", "none.json", "--endpoint", "woo-shop"}, 2, "none.json"},
		{"no such secret", []string{"--request", "captured.http", "--provider", "stripe", "--secret-file", "none.txt"}, 2, "(8 characters): no such file"},
		{"a folder for a secret", []string{"--request", "captured.http", "--provider", "stripe", "--secret-file", "."}, 2, "(1 character): is a directory"},
		{"an archive whose request is null", []string{"--request", "null.har", "--endpoint", "woo-shop"}, 2, "request 1: the archive has none there"},
		{"a time in milliseconds", []string{"--request", "captured.http", "--endpoint", "woo-shop", "--now", "1795953600000"}, 2, "milliseconds, or finer, where seconds belong"},
		{"a number that is no time", []string{"--request", "captured.http", "--endpoint", "woo-shop", "--now", "12"}, 2, "unix seconds"},
		{"a time in unix seconds", []string{"--request", "captured.http", "--endpoint", "woo-shop", "--now", "1795953600"}, 0, ""},
		{"no such certificate", []string{"--request", "captured.http", "--provider", "paypal", "--secret-file", "secret.txt", "--certificate", "none.pem"}, 2, "none.pem"},
		{"an empty capture", []string{"--request", "empty.http", "--endpoint", "woo-shop"}, 2, "empty"},
		{"no time", []string{"--request", "captured.http", "--endpoint", "woo-shop", "--now", "noon"}, 2, "--now"},
		{"no header", []string{"--request", "captured.http", "--endpoint", "woo-shop", "--header", "X-A"}, 2, "--header"},
		{"one of many", []string{"--request", "many.har", "--endpoint", "woo-shop"}, 2, "3 of them"},
		{"the last of many", []string{"--request", "many.har", "--endpoint", "woo-shop", "--entry", "3"}, 0, ""},
		{"one beyond", []string{"--request", "many.har", "--endpoint", "woo-shop", "--entry", "4"}, 2, "3 requests"},
		{"one before", []string{"--request", "many.har", "--endpoint", "woo-shop", "--entry", "-1"}, 2, "--entry"},
		{"the first, counted from 0", []string{"--request", "many.har", "--endpoint", "woo-shop", "--entry", "0"}, 2, "--entry counts from 1"},
		{"a body elsewhere", []string{"--request", "elsewhere.sh", "--endpoint", "woo-shop"}, 2, "--body"},
		{"an argument", []string{"captured.http"}, 2, "takes no argument"},
		{"an endpoint that is not applied", []string{"--request", "captured.http", "--endpoint", "none"}, 3, "Not Found"},
	} {
		api := serveCanned(t)
		api.names(one)
		code, stdout, stderr := run(t, t.Context(), append(append([]string{"verify"}, c.args...), "--target", api.url)...)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit %d, want %d: %s%s", c.name, code, c.code, stdout, stderr)
		}
	}
}

// Nothing is asked of anybody where provider and secret are given.
func TestVerifyWorksOffline(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	t.Chdir(t.TempDir())
	const key = "0123456789abcdefghijkl"
	write(t, "key.txt", key+"\n")
	write(t, "old.txt", "zz-an-older-key-0123456")
	write(t, "captured.http", rawHTTP(captured(t, "square", key, `{"event_id":"e1","type":"a.b"}`), "pay"))
	args := []string{"verify", "--provider", "square", "--request", "captured.http", "--secret-file", "old.txt", "--secret-file", "key.txt", "--target", gone.URL}
	if code, stdout, stderr := run(t, t.Context(), append(args, "--public-url", "https://hooks.example.com/hooks/pay")...); code != 0 || !strings.Contains(stdout, "Square, base64 HMAC-SHA256 of address and raw body, 2 active secrets") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := run(t, t.Context(), append(args, "--public-url", "https://hooks.example.com/prod/hooks/pay")...); code != 7 || !strings.Contains(stdout, "https://hooks.example.com/hooks/pay") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	if code, _, stderr := run(t, t.Context(), "verify", "--endpoint", "pay", "--request", "captured.http", "--target", gone.URL, "--timeout", "1s"); code != 6 {
		t.Errorf("an endpoint that cannot be asked for: exit %d %s", code, stderr)
	}
}

// The request comes from standard input, the body from a file or the other way round; a secret that is
// given goes before those of the endpoint.
func TestVerifyTakesItsPartsFromAnywhere(t *testing.T) {
	api := serveCanned(t)
	api.names(one)
	req := captured(t, "woocommerce", secondSecret, wooBody)
	dir := t.TempDir()
	secret, body := filepath.Join(dir, "secret.txt"), filepath.Join(dir, "body.json")
	write(t, secret, secondSecret)
	write(t, body, wooBody)
	head, _, _ := strings.Cut(rawHTTP(req, "woo-shop"), "\r\n\r\n")
	for _, c := range []struct {
		name, input string
		args        []string
		code        int
	}{
		{"the endpoint's own secret", rawHTTP(req, "woo-shop"), []string{"--request", "-"}, 7},
		{"a secret of a file", rawHTTP(req, "woo-shop"), []string{"--request", "-", "--secret-file", secret}, 0},
		{"a body of a file", head, []string{"--request", "-", "--body", body, "--secret-file", secret}, 0},
		{"a body of standard input", wooBody, []string{"--body", "-", "--secret-file", secret, "--header", "X-WC-Webhook-Topic: product.updated", "--header", "X-WC-Webhook-Signature:" + req.Header.Get("X-Wc-Webhook-Signature")}, 0},
		{"a body without headers", wooBody, []string{"--body", "-", "--secret-file", secret}, 7},
	} {
		code, stdout, stderr := runIn(t.Context(), func(e *program.Env) {
			e.Args, e.Stdin = append([]string{"verify", "--endpoint", "woo-shop", "--target", api.url}, c.args...), strings.NewReader(c.input)
		})
		if code != c.code {
			t.Errorf("%s: exit %d %s%s", c.name, code, stdout, stderr)
		}
	}
}

// What send prints is sound, and what it spoils is not, on a running system.
func TestVerifyOfWhatSendPrints(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	for _, c := range []struct {
		endpoint string
		args     []string
		code     int
		says     string
	}{
		{"woo-shop", nil, 0, "product.updated, product:794"},
		{"woo-shop", []string{"woocommerce/product.deleted"}, 0, "does nothing"},
		{"woo-shop", []string{"woocommerce/ping"}, 0, "a ping"},
		{"woo-shop", []string{"--twist", "other-body"}, 7, "one newline is taken"},
		{"woo-shop", []string{"--twist", "no-signature"}, 7, "X-Wc-Webhook-Signature is missing"},
		{"woo-shop", []string{"--twist", "bad-signature"}, 7, "another secret"},
		{"crm", []string{"standard-webhooks/contact.created"}, 0, "contact.created, contact:"},
		{"crm", []string{"standard-webhooks/contact.created", "--twist", "stale"}, 7, "more than the 300 s that are allowed"},
	} {
		code, command, stderr := live(t, s, append([]string{"send", "--curl"}, c.args...)...)
		if code != 0 {
			t.Fatal(stderr)
		}
		file := filepath.Join(t.TempDir(), "captured.sh")
		write(t, file, command)
		code, stdout, stderr := live(t, s, "verify", "--endpoint", c.endpoint, "--request", file)
		if code != c.code || !strings.Contains(stdout, c.says) {
			t.Errorf("%v: exit %d %s%s", c.args, code, stdout, stderr)
		}
	}
}

// On a stack the secrets come from its own part of the parameter store; nothing is written, and nothing
// is asked.
func TestVerifyOnAStack(t *testing.T) {
	api, _ := deployed(t)
	api.names(one)
	file := filepath.Join(t.TempDir(), "captured.http")
	write(t, file, rawHTTP(captured(t, "woocommerce", "local-woo-secret", wooBody), "woo-shop"))
	if code, stdout, stderr := run(t, t.Context(), "verify", "--endpoint", "woo-shop", "--request", file, "--target", "my-stack"); code != 0 || !strings.Contains(stdout, "it is sound") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	at := api.answer["/local/aws"].(client.Engine)
	if held, err := vault(at).Below(t.Context(), "hooks"); err != nil || len(held) != 2 {
		t.Errorf("%d secrets, %v", len(held), err)
	}
}

// A delivery as it comes out of a log of the gateway.
func TestVerifyOfAnEventOfTheGateway(t *testing.T) {
	api := serveCanned(t)
	api.names(one)
	req := captured(t, "woocommerce", "local-woo-secret", wooBody)
	headers := map[string]string{}
	for name := range req.Header {
		headers[strings.ToLower(name)] = req.Header.Get(name)
	}
	for _, c := range []struct {
		body string
		flag bool
		code int
	}{{base64.StdEncoding.EncodeToString(req.Body), true, 0}, {base64.StdEncoding.EncodeToString(req.Body), false, 7}, {string(req.Body), false, 0}} {
		raw, err := json.Marshal(map[string]any{"version": "2.0", "rawPath": "/hooks/woo-shop", "headers": headers, "body": c.body, "isBase64Encoded": c.flag})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "event.json")
		write(t, file, string(raw))
		code, stdout, stderr := run(t, t.Context(), "verify", "--endpoint", "woo-shop", "--request", file, "--target", api.url)
		if code != c.code || c.code == 7 && !strings.Contains(stdout, "isBase64Encoded") {
			t.Errorf("base64 %v: exit %d %s%s", c.flag, code, stdout, stderr)
		}
	}
}
