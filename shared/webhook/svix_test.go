package webhook_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	library "github.com/svix/svix-webhooks/go"

	"engang/shared/webhook"
)

const svixSecret = "whsec_c3ludGhldGljLXN2aXgtc2VjcmV0LTAwMDE="

var _ = add(sample{
	provider: "svix", secret: svixSecret, older: "whsec_c3ludGhldGljLXJvdGF0ZWQtc2VjcmV0LTAwMDE=", body: standardBody,
	signature: "Svix-Signature", covered: []string{"Svix-Timestamp", "Svix-Id"}, window: 300 * time.Second, lists: true,
	sum: standardSum("Svix-"), keyOf: decodedKey, badSecrets: whsecBad, unfit: whsecUnfit,
})

// Every request that a running Svix server made: its retries are one event, whatever was answered, and
// during a rotation either secret takes them.
func TestEverySvixCapture(t *testing.T) {
	s, err := row(t, "svix").For(webhook.Endpoint{Type: "synthetic"})
	if err != nil {
		t.Fatal(err)
	}
	keys, tries, rotated := map[string]string{}, 0, 0
	for _, c := range captures(t, "svix.jsonl") {
		req := c.request(same)
		secrets := []string{c.Secret}
		if second, ok := strings.CutPrefix(c.Note, "second secret "); ok {
			rotated++
			secrets = append(secrets, second)
		}
		for _, secret := range secrets {
			if err := s.Verify(req, held(secret), webhook.Expect{}, time.Unix(c.Now, 0)); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
		if err := s.Verify(req, held(c.Secret), webhook.Expect{}, time.Unix(c.Now+600, 0)); !errors.Is(err, webhook.ErrTimestamp) {
			t.Errorf("%s ten minutes later: %v", c.Name, err)
		}
		fact, err := s.Identify(req, read(t, s, req), webhook.Rule{Kind: "thing", ID: pointer(t, "/id")}, noon)
		if err != nil || fact.Key != req.Header.Get("Svix-Id") || fact.SenderID != fact.Key || fact.ObjectID == "" {
			t.Errorf("%s: %+v, %v", c.Name, fact, err)
		}
		if digest, seen := keys[fact.Key]; seen {
			tries++
			if digest != fact.Digest {
				t.Errorf("%s: a retry has another digest", c.Name)
			}
		}
		keys[fact.Key] = fact.Digest
	}
	if tries < 10 || rotated != 2 || len(keys) < 3 {
		t.Errorf("%d events, %d retries, %d during a rotation: the file is not what it was", len(keys), tries, rotated)
	}
}

// The names fall back together or not at all: id and time are those that the signature stands beside.
func TestSvixNamesFallBackTogether(t *testing.T) {
	s := row(t, "svix")
	own := signedWith(t, "svix", svixSecret, standardBody)
	general := signedWith(t, standard, svixSecret, standardBody)
	general.Header.Set("Webhook-Id", "msg_other")
	resigned := "v1," + mac(decodedKey(svixSecret), "msg_other."+general.Header.Get("Webhook-Timestamp")+"."+standardBody)
	general.Header.Set("Webhook-Signature", resigned)
	mixed := func(skip string) webhook.Request {
		req := webhook.Request{Method: http.MethodPost, Header: general.Header.Clone(), Body: own.Body}
		for name, values := range own.Header {
			if name != skip {
				req.Header[name] = values
			}
		}
		return req
	}
	for name, tt := range map[string]struct {
		req webhook.Request
		key string
	}{
		"only its own names":            {own, own.Header.Get("Svix-Id")},
		"only the general names":        {general, "msg_other"},
		"both, its own win":             {mixed(""), own.Header.Get("Svix-Id")},
		"both, one of its own missing":  {mixed("Svix-Timestamp"), "msg_other"},
		"both, its own id missing":      {mixed("Svix-Id"), "msg_other"},
		"its own, wrong beside general": {with(mixed(""), "Svix-Signature", "v1,"+mac("x", "y")), ""},
		"half of each":                  {with(mixed("Svix-Timestamp"), "Webhook-Id"), ""},
		"its own signature blank":       {with(mixed(""), "Svix-Signature", ""), ""},
		"its own id twice":              {with(mixed(""), "Svix-Id", "msg_1", "msg_1"), ""},
	} {
		err := s.Verify(tt.req, held(svixSecret), webhook.Expect{}, noon)
		if (err == nil) != (tt.key != "") || err != nil && !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
		if tt.key != "" {
			if got := identify(t, "svix", tt.req, webhook.Rule{}); got.Key != tt.key {
				t.Errorf("%s: key %s", name, got.Key)
			}
		}
	}
}

func TestTheSvixLibraryAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	s := row(t, "svix")
	for range 500 {
		key, body := make([]byte, 24+random.IntN(41)), make([]byte, random.IntN(300))
		for _, b := range [][]byte{key, body} {
			for i := range b {
				b[i] = byte(random.Uint32())
			}
		}
		secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
		wh, err := library.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		now, id := time.Now(), fmt.Sprintf("msg_%x", random.Uint64())
		ours, err := s.Sign(webhook.Request{Header: http.Header{"Svix-Id": {id}}, Body: body}, held(secret)[0], now)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := wh.Sign(id, now, body)
		if err != nil || theirs != ours.Header.Get("Svix-Signature") {
			t.Fatalf("signed differently: %v", err)
		}
		if err := wh.Verify(body, ours.Header); err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(ours, held(secret), webhook.Expect{}, now); err != nil {
			t.Fatal(err)
		}
	}
}

// Where the library answers otherwise, it is on purpose, and here is why.
func TestWhereTheSvixLibraryDisagrees(t *testing.T) {
	good := signedWith(t, "svix", svixSecret, standardBody)
	good2 := with(good, "Svix-Signature", good.Header.Get("Svix-Signature"), "v1,AAAA")
	for _, tt := range []struct {
		name, secret, why string
		req               webhook.Request
	}{
		{"empty secret", "whsec_", "anyone could sign", forge(t, "svix", "whsec_")},
		{"repeated header", svixSecret, "who reads which one would decide what was verified", good2},
	} {
		wh, err := library.NewWebhook(tt.secret)
		if err != nil {
			t.Fatal(err)
		}
		theirs := wh.VerifyIgnoringTimestamp(tt.req.Body, tt.req.Header) == nil
		if ours := row(t, "svix").Verify(tt.req, held(tt.secret), webhook.Expect{}, noon) == nil; ours || !theirs {
			t.Errorf("%s (%s): we accept %v, the library %v", tt.name, tt.why, ours, theirs)
		}
	}
	checked := 0
	for _, v := range readVectors(t, "testdata/vectors.json") {
		if v.Provider != "svix" || v.Expect == "stale" {
			continue
		}
		checked++
		wh, err := library.NewWebhook(v.Secret)
		if err != nil {
			t.Fatal(err)
		}
		if accepted := wh.VerifyIgnoringTimestamp([]byte(v.Body), v.request().Header) == nil; accepted != (v.Expect == "valid") {
			t.Errorf("%s: library accepted: %v", v.Name, accepted)
		}
	}
	if checked != 2 {
		t.Errorf("%d vectors were compared", checked)
	}
}
