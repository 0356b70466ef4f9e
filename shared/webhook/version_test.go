package webhook_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"engang/shared/object"
	"engang/shared/webhook"
)

// ofTheirOwn are the rules of the rows that only an endpoint tells what an event is about.
func ofTheirOwn(t *testing.T) map[string]webhook.Rule {
	return map[string]webhook.Rule{
		"generic": {Kind: "thing", ID: pointer(t, "/thing/id")}, standard: {Kind: "contact", ID: pointer(t, "/data/id")}, "svix": {Kind: "contact", ID: pointer(t, "/data/id")},
	}
}

// timeless is a body without any member that a row reads a version from.
func timeless(doc any) any {
	switch v := doc.(type) {
	case map[string]any:
		less := maps.Clone(v)
		for _, name := range []string{
			"created", "created_at", "createdAt", "create_time", "updated_at", "updatedAt", "update_time", "occurred_at", "occurredAt", "submitted_at", "pushed_at",
			"date_modified_gmt", "post_modified_gmt", "event_ts", "event_time", "time", "MessageStatus", "SmsStatus",
		} {
			delete(less, name)
		}
		if _, event := less["event"]; event || less["type"] != nil { // not the one of a signature in the body
			delete(less, "timestamp")
		}
		for name, value := range less {
			less[name] = timeless(value)
		}
		return less
	case []any:
		less := slices.Clone(v)
		for i := range less {
			less[i] = timeless(less[i])
		}
		return less
	}
	return doc
}

// One object's versions are of one kind: a number is older than any time, so that a single one of the other kind would be
// the newest, or the oldest, for ever. Each row says what a body without its version is: normal, and ranked by when it was
// received, or nothing that the sender sends.
func TestEveryRowHasVersionsOfOneKind(t *testing.T) {
	rows := map[string]string{
		"calendly": "demanded", "forgejo": "received", "generic": "received", "ghost": "received", "gitea": "received", "github": "received", "gitlab": "received",
		"hubspot": "demanded", "intercom": "demanded", "lemonsqueezy": "received", "linear": "demanded", "mailgun": "demanded", openAI: "demanded", "paddle": "demanded",
		"paypal": "demanded", "shopify": "received", "slack": "demanded", "square": "demanded", "stripe": "demanded", "svix": "received", standard: "received",
		"twilio": "demanded", woo: "received", "wordpress": "received", "zendesk": "demanded",
	}
	if len(rows) != len(webhook.Names()) {
		t.Errorf("%d rows are held to it, of %d", len(rows), len(webhook.Names()))
	}
	for _, name := range webhook.Names() {
		t.Run(name, func(t *testing.T) {
			req, _ := signed(t, name, samples[name].body)
			s, rule := samples[name].scheme(t), ofTheirOwn(t)[name]
			fact := identify(t, name, req, rule)
			switch version, err := object.ParseVersion(fact.Version); {
			case fact.Flaw != "" || name == "generic" && fact.Version != "":
				t.Errorf("%+v", fact)
			case name != "generic" && (err != nil || strings.Contains(string(version), "T") == (name == "twilio")):
				t.Errorf("version %q, %v", fact.Version, err)
			}
			if s.Counts(fact.Type) != (name == "twilio") {
				t.Error("whether its versions are numbers is told otherwise")
			}
			less, err := json.Marshal(timeless(read(t, s, req)))
			if err != nil {
				t.Fatal(err)
			}
			req.Body = less
			if name == "twilio" { // a form
				req.Body = []byte("MessageStatus=new&MessageSid=" + twilioMessage)
			}
			fact = identify(t, name, req, rule)
			if demanded := strings.Contains(fact.Flaw, "no version"); fact.Version != "" || demanded != (rows[name] == "demanded") || demanded == (fact.ObjectID != "") || !demanded && fact.Flaw != "" {
				t.Errorf("without a version: %+v", fact)
			}
		})
	}
}

func TestVersionsThatCannotBeOrderedAreFlaws(t *testing.T) {
	const contact = `{"type":"a.b","timestamp":"2026-11-29T11:59:57Z","rev":%,"data":{"id":"1"}}`
	tests := []struct {
		name     string
		provider string
		body     string
		version  string // the endpoint's own place
		want     string // the version
		flaw     string
	}{
		{"a number where the endpoint says", standard, strings.Replace(contact, "%", "41", 1), "/rev", "41", ""},
		{"nothing there", standard, strings.Replace(contact, "%", "null", 1), "/rev", "", "the body has no version at /rev"},
		{"an empty text there", standard, strings.Replace(contact, "%", `""`, 1), "/rev", "", "the body has no version at /rev"},
		{"an object there", standard, strings.Replace(contact, "%", `{"n":1}`, 1), "/rev", "", "the body has no version at /rev"},
		{"no such place", standard, strings.Replace(contact, "%", "41", 1), "/data/rev", "", "the body has no version at /data/rev"},
		{"the specification's own place, and a time", standard, strings.Replace(contact, "%", "41", 1), "", "2026-11-29T11:59:57Z", ""},
		{"the same in seconds", standard, `{"type":"a.b","timestamp":1795953597,"data":{"id":"1"}}`, "", "2026-11-29T11:59:57Z", ""},
		{"something else there, which the sender may mean otherwise", standard, `{"type":"a.b","timestamp":17959535970000,"data":{"id":"1"}}`, "", "", ""},
		{"a number where the row has times", woo, `{"id":7,"date_modified_gmt":1795953597}`, "", "1795953597", "the object's version is of another kind than the sender's other versions of it"},
		{"no time, as of a deletion", woo, `{"id":7}`, "", "", ""},
		{"no time, although the endpoint names the row's own place", woo, `{"id":7,"date_modified_gmt":null}`, "/date_modified_gmt", "", ""},
		{"no time at another place that the endpoint names", woo, `{"id":7,"date_modified_gmt":"2026-11-29T11:59:57"}`, "/rev", "", "the body has no version at /rev"},
		{"milliseconds where the row has seconds", "stripe", `{"id":"evt_1","type":"x.y","created":1795953597000,"data":{"object":{"id":"x_1","object":"x"}}}`, "", "1795953597000", "the object's version is of another kind than the sender's other versions of it"},
		{"of Square the time of the event alone", "square", squareBody, "", "2026-11-29T11:59:58.124Z", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := standardRequest("msg_1", tt.body)
			if tt.provider == woo {
				req = wooRequest("product.updated", tt.body)
			}
			rule := ofTheirOwn(t)[tt.provider]
			if tt.version != "" {
				rule.Version = pointer(t, tt.version)
			}
			fact := identify(t, tt.provider, req, rule)
			if fact.Version != tt.want || fact.Flaw != tt.flaw || (fact.ObjectID == "") != (tt.flaw != "") || (fact.Kind == "") != (tt.flaw != "") {
				t.Errorf("%+v", fact)
			}
		})
	}
}

// How far a message has come is no version of its sender, who has many; and what has come twice as far has no time.
func TestTwilioCountsOfItsOwnObjectsAlone(t *testing.T) {
	s := row(t, "twilio")
	form := func(body string, rule webhook.Rule) webhook.Fact {
		req := webhook.Request{Method: "POST", URL: twilioURL, Header: map[string][]string{}, Body: []byte(body)}
		fact, err := s.Identify(req, read(t, s, req), rule, noon)
		if err != nil {
			t.Fatal(err)
		}
		return fact
	}
	for _, kind := range []string{"message.sent", "call.ringing", "recording", "transcription.completed", "conference.participant-join"} {
		if !s.Counts(kind) {
			t.Errorf("%s is ordered by times", kind)
		}
	}
	for _, kind := range []string{"conversation.onMessageAdded", "com.twilio.messaging.message.sent", ""} {
		if s.Counts(kind) {
			t.Errorf("%s is ordered by numbers", kind)
		}
	}
	ours := webhook.Rule{Kind: "contact", ID: pointer(t, "/From")}
	if fact := form("From=%2B4712345678&SmsStatus=received&MessageSid="+twilioMessage, ours); fact.Version != "" || fact.Flaw != "" || fact.Kind != "contact" {
		t.Errorf("whoever wrote: %+v", fact)
	}
	if fact := form("RecordingUrl=x&RecordingSid=RE0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a", webhook.Rule{}); fact.Version != "5" || fact.Flaw != "" {
		t.Errorf("a recording that an action is told of: %+v", fact)
	}
}

func TestWhatARowTellsAboutItsVersionsAndObjects(t *testing.T) {
	s := row(t, woo)
	if utc, ok := s.InUTC(*pointer(t, "/date_modified")); !ok || utc != "/date_modified_gmt" {
		t.Errorf("the shop's own time: %q, %v", utc, ok)
	}
	if utc, ok := s.InUTC(*pointer(t, "/date_modified_gmt")); ok {
		t.Errorf("a time in UTC: %q", utc)
	}
	for provider, want := range map[string]string{woo: "product", "github": "", "ghost": "", standard: "", "mailgun": "message"} {
		if got := row(t, provider).Kind("product.updated"); got != want {
			t.Errorf("%s: kind %q of product.updated", provider, got)
		}
	}
	if got := row(t, "twilio").Kind("message.sent"); got != "message" {
		t.Errorf("kind %q of message.sent", got)
	}
	if got := row(t, woo).Kind("pro#duct.updated"); got != "" {
		t.Errorf("a kind that fits no key: %q", got)
	}
	if row(t, woo).Worldwide() || row(t, "gitea").Worldwide() || !row(t, "stripe").Worldwide() || !row(t, "github").Worldwide() {
		t.Error("whose ids are one object's everywhere")
	}
}
