package handler_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// A route that asks for no identity shows nothing and does nothing, whatever the gateway has let through.
func TestACallWithoutAnIdentityIsRefused(t *testing.T) {
	type description = events.APIGatewayV2HTTPRequestContextAuthorizerDescription
	iam := func(arn string) *description {
		return &description{IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{AccountID: "123456789012", UserARN: arn}}
	}
	for name, authorizer := range map[string]*description{"no authorizer": nil, "another authorizer": {Lambda: map[string]any{"user": "ann"}}, "an empty identity": iam(""), "a blank identity": iam(" \t")} {
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/api/version", ""},
			{"GET", "/api/events", ""},
			{"GET", "/api/config", ""},
			{"GET", "/api/audit", ""},
			{"GET", "/api/nothing", ""}, // nor is it told what there is
			{"POST", "/api/reveal", `{"id":"evt_aaaaaaaaaaaaaaaa","reason":"why"}`},
			{"POST", "/api/erase", `{"object":"product:794","reason":"why","dry_run":true}`},
			{"PUT", "/api/config", applying},
		} {
			d := &desk{}
			e := request(c.method, c.path, "", c.body)
			e.RequestContext.Authorizer = authorizer
			out, _ := answer(t, d, e)
			if out.StatusCode != http.StatusForbidden || d.asked != "" || out.Headers["Content-Type"] != "application/problem+json" || !strings.Contains(out.Body, "have the route that it came by ask for IAM") {
				t.Errorf("%s, %s %s: %d %s, asked %q", name, c.method, c.path, out.StatusCode, out.Body, d.asked)
			}
		}
	}
}

// What this version does not know must not be overlooked: of two ids, one would be cancelled unseen.
func TestABodyIsReadToItsLastKey(t *testing.T) {
	bodies := map[string]string{
		"/api/reveal": `{"id":"evt_aaaaaaaaaaaaaaaa","reason":"x"}`, "/api/cancel": `{"id":"product:1/a@1/aa","reason":"x"}`, "/api/redrive": `{"id":"product:1/a@1/aa","listed":true,"reason":"x"}`,
		"/api/dlq/tidy": `{"native":true,"reason":"x"}`, "/api/replay": `{"since":"2026-11-01T00:00:00Z","dry_run":true}`, "/api/erase": `{"object":"product:1","reason":"x"}`,
		"/api/export": `{"object":"product:1","reason":"x"}`, "/api/pause": `{"kind":"everything","reason":"x"}`, "/api/resume": `{"kind":"everything","reason":"x"}`,
		"/api/review/approve": `{"id":"o","digest":"sha256:cd","reason":"x"}`, "/api/review/reject": `{"id":"o","digest":"sha256:cd","reason":"x"}`, "/api/review/dismiss": `{"id":"o","reason":"x"}`,
	}
	for path, body := range bodies {
		if out, _ := answer(t, &desk{}, request("POST", path, "", body)); out.StatusCode != http.StatusOK {
			t.Errorf("%s %s: %d %s", path, body, out.StatusCode, out.Body)
		}
		first, _, _ := strings.Cut(body[1:], `:`) // its first key
		for name, other := range map[string]string{
			"a second document": body + body, "text behind it": body + " and also this", "an unknown key": `{"unknown":1,` + body[1:],
			"a key twice": `{` + first + `:"product:2",` + body[1:], "a key in other letters": `{` + strings.ToUpper(first) + `:"product:2",` + body[1:],
			"only in other letters": strings.Replace(body, first, strings.ToUpper(first), 1), "nothing": "", "no object": `["x"]`,
		} {
			d := &desk{}
			if out, _ := answer(t, d, request("POST", path, "", other)); out.StatusCode != http.StatusBadRequest || d.asked != "" {
				t.Errorf("%s, %s: %d %s, asked %q", path, name, out.StatusCode, out.Body, d.asked)
			}
		}
	}
}

func TestAConfigurationIsReadToItsLastKey(t *testing.T) {
	const price = `"input":"1","cached":"0","cache_write":"0","output":"1","as_of":"2026-11-29"`
	with := func(price string) string {
		return `{"revision":0,"set":{"scope":{"tenant":"shop","environment":"test"},"common":{"event_days":30,"result_days":400,"providers":{"openai":{"api_key":"ssm:models/a","prices":{"m":{` + price + `}}}}},"endpoints":[],"recipes":[]}}`
	}
	if out, _ := answer(t, &desk{}, request("PUT", "/api/config", "", with(price))); out.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", out.StatusCode, out.Body)
	}
	for name, body := range map[string]string{
		"an unknown key of a price": with(price + `,"image_input":"9"`), "an unknown key of a tier's price": with(price + `,"tiers":{"flex":{` + price + `,"minimum":"5"}}`),
		"a key of a price in other letters": with(price + `,"Output":"9"`), "a key of a price twice": with(price + `,"output":"9"`),
		"a set twice": `{"set":{},` + with(price)[1:], "a key of an endpoint in other letters": strings.Replace(with(price), `"endpoints":[]`, `"endpoints":[{"Name":"a"}]`, 1), "a second document": with(price) + "{}",
	} {
		d := &desk{}
		if out, _ := answer(t, d, request("PUT", "/api/config", "", body)); out.StatusCode != http.StatusBadRequest || d.asked != "" {
			t.Errorf("%s: %d %s, asked %q", name, out.StatusCode, out.Body, d.asked)
		}
	}
}
