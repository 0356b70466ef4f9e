package webhook_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/webhook"
)

const (
	hubSpotURL   = "https://hooks.example.com/hooks/hubspot"
	hubSpotEvent = `{"eventId":381,"subscriptionId":25,"portalId":33,"appId":7,"occurredAt":1795953596250,"subscriptionType":"company.propertyChange","attemptNumber":0,"objectId":9000000001,"propertyName":"industry","propertyValue":"RETAIL"}`
	hubSpotStamp = "X-Hubspot-Request-Timestamp"
	hubSpotSum   = "X-Hubspot-Signature-V3"
)

var hubSpotSample = add(sample{
	provider: "hubspot", secret: "3f2b1c9e-8a7d-4c6b-9e5f-1a2b3c4d5e6f", older: "0f1e2d3c-4b5a-4968-8776-655443322110", body: hubSpotEvent, url: hubSpotURL,
	signature: hubSpotSum, covered: []string{hubSpotStamp}, window: 300 * time.Second,
	sum: func(req webhook.Request, key string) string {
		return mac(key, req.Method+req.URL+string(req.Body)+req.Header.Get(hubSpotStamp))
	},
	unfit: map[string]string{
		"access token":       "pat-na1-3f2b1c9e-8a7d-4c6b-9e5f-1a2b3c4d5e6f",
		"everybody knows it": "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy",
		"fewer than 32":      "3f2b1c9e-8a7d",
	},
})

func TestHubSpotFacts(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       webhook.Fact
	}{
		{"a property", hubSpotEvent, webhook.Fact{Type: "company.propertyChange", Key: "33#25#381#1795953596250#9000000001#industry", SenderID: "381", Kind: "company", ObjectID: "9000000001", Version: "2026-11-29T11:59:56.25Z"}},
		{"a creation", `{"eventId":1,"subscriptionId":2,"portalId":3,"occurredAt":1795953596000,"subscriptionType":"contact.creation","objectId":4}`,
			webhook.Fact{Type: "contact.creation", Key: "3#2#1#1795953596000#4#", SenderID: "1", Kind: "contact", ObjectID: "4", Version: "2026-11-29T11:59:56Z"}},
		{"the same in the newer form", `{"eventId":1,"subscriptionId":2,"portalId":3,"occurredAt":1795953596000,"subscriptionType":"object.creation","objectTypeId":"0-1","objectId":4}`,
			webhook.Fact{Type: "object.creation", Key: "3#2#1#1795953596000#4#", SenderID: "1", Kind: "contact", ObjectID: "4", Version: "2026-11-29T11:59:56Z"}},
		{"an object of the customer's own", `{"eventId":1,"subscriptionId":2,"portalId":3,"occurredAt":1795953596000,"subscriptionType":"object.creation","objectTypeId":"2-3465404","objectId":4}`,
			webhook.Fact{Type: "object.creation", Key: "3#2#1#1795953596000#4#", SenderID: "1", Kind: "2-3465404", ObjectID: "4", Version: "2026-11-29T11:59:56Z"}},
		{"an association has two ends", `{"eventId":1,"subscriptionId":2,"portalId":3,"occurredAt":1795953596000,"subscriptionType":"contact.associationChange","fromObjectId":4,"toObjectId":5}`,
			webhook.Fact{Type: "contact.associationChange", Key: "3#2#1#1795953596000#4>5#", SenderID: "1", Kind: "contact", ObjectID: "4", Version: "2026-11-29T11:59:56Z"}},
		{"no object", `{"eventId":1,"subscriptionId":2,"portalId":3,"occurredAt":1795953596000,"subscriptionType":"conversation.newMessage"}`,
			webhook.Fact{Type: "conversation.newMessage", Key: "3#2#1#1795953596000##", SenderID: "1", Version: "2026-11-29T11:59:56Z", Flaw: "the body has no object id where this kind of event has it"}},
	} {
		req := signedWith(t, "hubspot", hubSpotSample.secret, tt.body)
		got := identify(t, "hubspot", req, webhook.Rule{})
		tt.want.Digest = got.Digest
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if _, err := row(t, "hubspot").Identify(posted(`{"objectId":1}`), decoded(t, []byte(`{"objectId":1}`)), webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
		t.Errorf("a workflow without a type of the endpoint's: %v", err)
	}
}

// What a workflow sends is the customer's own: no event id, and perhaps the same twice a day.
func TestHubSpotWorkflows(t *testing.T) {
	s, err := row(t, "hubspot").For(webhook.Endpoint{Type: "contact.enrolled"})
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"objectId":7,"properties":{}}`
	key := func(req webhook.Request) string {
		fact, err := s.Identify(req, decoded(t, req.Body), webhook.Rule{}, noon)
		if err != nil || fact.Kind != "contact" || fact.ObjectID != "7" {
			t.Errorf("%+v, %v", fact, err)
		}
		return fact.Key
	}
	first, second := key(posted(body, hubSpotSum, "x", hubSpotStamp, "1795953600000")), key(posted(body, hubSpotSum, "x", hubSpotStamp, "1795953601000"))
	if first == second || !strings.HasSuffix(first, "#1795953600000") {
		t.Errorf("two that say the same: %s, %s", first, second)
	}
	if old := key(posted(body, hubSpotStamp, "1795953601000")); !strings.HasSuffix(old, "#2026-11-29") {
		t.Errorf("a time that nobody signed is in the key: %s", old)
	}
}

func TestHubSpotDeliveriesHoldManyEvents(t *testing.T) {
	s := row(t, "hubspot")
	body := payload(t, "hubspot-batch.json")
	retried := strings.ReplaceAll(body, `"attemptNumber":0`, `"attemptNumber":3`)
	facts := func(body string) (webhook.Fact, []webhook.Fact) {
		req := signedWith(t, "hubspot", hubSpotSample.secret, body)
		if err := s.Verify(req, held(hubSpotSample.secret), webhook.Expect{Source: "33000001"}, noon); err != nil {
			t.Error(err)
		}
		batch, ok := s.Split(req, read(t, s, req))
		if !ok || batch.Fact.Type != webhook.SplitType {
			t.Fatalf("%v, %+v", ok, batch.Fact)
		}
		var all []webhook.Fact
		for _, part := range batch.Parts {
			all = append(all, identify(t, "hubspot", part, webhook.Rule{}))
		}
		return batch.Fact, all
	}
	whole, parts := facts(body)
	again, same := facts(retried)
	if retried == body || whole != again || !slices.Equal(parts, same) {
		t.Errorf("a retry is something else: %+v, %+v", whole, again)
	}
	want := []webhook.Fact{
		{Type: "company.propertyChange", Key: "33000001#25#3816279340#1795975196000#9000000001#industry", SenderID: "3816279340", Kind: "company", ObjectID: "9000000001", Version: "2026-11-29T17:59:56Z", Digest: parts[0].Digest},
		{Type: "company.creation", Key: "33000001#22#3816279480#1795975197000#9000000002#", SenderID: "3816279480", Kind: "company", ObjectID: "9000000002", Version: "2026-11-29T17:59:57Z", Digest: parts[1].Digest},
	}
	if diff := cmp.Diff(want, parts); diff != "" || parts[0].Digest == parts[1].Digest {
		t.Error(diff)
	}
	alone := signedWith(t, "hubspot", hubSpotSample.secret, "["+strings.SplitAfter(strings.TrimPrefix(body, "["), "}")[0]+"]")
	batch, _ := s.Split(alone, read(t, s, alone))
	if got := identify(t, "hubspot", batch.Parts[0], webhook.Rule{}); got != parts[0] || batch.Fact.Key == whole.Key {
		t.Errorf("the first one alone is another event: %+v", got)
	}
	if _, ok := s.Split(posted(hubSpotEvent), decoded(t, []byte(hubSpotEvent))); ok {
		t.Error("one event was taken apart")
	}
	hundred := "[" + strings.TrimSuffix(strings.Repeat(hubSpotEvent+",", 100), ",") + "]"
	if batch, _ := s.Split(posted(hundred), decoded(t, []byte(hundred))); len(batch.Parts) != 100 || batch.Fact.Flaw != "" {
		t.Errorf("%d parts, %s", len(batch.Parts), batch.Fact.Flaw)
	}
}

func TestHubSpotNamesThePortal(t *testing.T) {
	s := row(t, "hubspot")
	for body, want := range map[string]bool{
		`[{"portalId":33},{"portalId":33}]`: true, `[{"portalId":33}]`: true, `{"portalId":33}`: true, `{"portalId":"33"}`: true,
		`[{"portalId":33},{"portalId":34}]`: false, `[{"portalId":33},{}]`: false, `[{},{"portalId":33}]`: false, `[]`: false, `[33]`: false, `{}`: false, `33`: false, `no JSON`: false,
	} {
		err := s.Verify(signedWith(t, "hubspot", hubSpotSample.secret, body), held(hubSpotSample.secret), webhook.Expect{Source: "33"}, noon)
		if (err == nil) != want || err != nil && !errors.Is(err, webhook.ErrSource) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// hubSpotSigned is a delivery that is signed over these texts, whatever the request itself says.
func hubSpotSigned(method, address, signedAddress, stamp string) webhook.Request {
	req := posted(hubSpotEvent, hubSpotStamp, stamp, hubSpotSum, mac(hubSpotSample.secret, method+signedAddress+hubSpotEvent+stamp))
	req.URL = address
	return req
}

func TestHubSpotSignsMethodAddressAndMilliseconds(t *testing.T) {
	s := row(t, "hubspot")
	const now = "1795953600000"
	every := hubSpotURL + "?a=%3A%2F%3F%40%21%24%27%28%29%2A%2C%3B"
	lower := hubSpotURL + "?a=%3a%2f%3f%40%21%24%27%28%29%2a%2c%3b"
	undone := hubSpotURL + "?a=:/?@!$'()*,;"
	other := hubSpotURL + "?a=%20%26%3D%23%25%2B"
	put := hubSpotSigned(http.MethodPost, hubSpotURL, hubSpotURL, now)
	put.Method = http.MethodPut
	for name, tt := range map[string]struct {
		req  webhook.Request
		want error
	}{
		"as it should be":                           {hubSpotSigned("POST", hubSpotURL, hubSpotURL, now), nil},
		"another address":                           {hubSpotSigned("POST", hubSpotURL, hubSpotURL+"/", now), webhook.ErrSignature},
		"no address":                                {hubSpotSigned("POST", "", hubSpotURL, now), webhook.ErrSignature},
		"the method signed was another":             {hubSpotSigned("PUT", hubSpotURL, hubSpotURL, now), webhook.ErrSignature},
		"the method is another":                     {put, webhook.ErrSignature},
		"all that is undone":                        {hubSpotSigned("POST", every, undone, now), nil},
		"the same in lower case":                    {hubSpotSigned("POST", lower, undone, now), nil},
		"as it is, as the library for Node.js does": {hubSpotSigned("POST", every, every, now), nil},
		"what is not undone":                        {hubSpotSigned("POST", other, other, now), nil},
		"what is not undone, undone":                {hubSpotSigned("POST", other, hubSpotURL+"?a= &=#%+", now), webhook.ErrSignature},
		"undone twice":                              {hubSpotSigned("POST", hubSpotURL+"?a=%253A", hubSpotURL+"?a=:", now), webhook.ErrSignature},
		"seconds":                                   {hubSpotSigned("POST", hubSpotURL, hubSpotURL, "1795953600"), webhook.ErrTimestamp},
		"a fraction":                                {hubSpotSigned("POST", hubSpotURL, hubSpotURL, "1795953600000.5"), webhook.ErrSignature},
		"a sign":                                    {hubSpotSigned("POST", hubSpotURL, hubSpotURL, "+1795953600000"), webhook.ErrSignature},
		"beyond all numbers":                        {hubSpotSigned("POST", hubSpotURL, hubSpotURL, strings.Repeat("9", 40)), webhook.ErrTimestamp},
		"no time":                                   {with(hubSpotSigned("POST", hubSpotURL, hubSpotURL, now), hubSpotStamp), webhook.ErrSignature},
		"two times":                                 {with(hubSpotSigned("POST", hubSpotURL, hubSpotURL, now), hubSpotStamp, now, now), webhook.ErrSignature},
	} {
		if err := s.Verify(tt.req, held(hubSpotSample.secret), webhook.Expect{}, noon); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !s.SignsURL() {
		t.Error("nobody would give it the address")
	}
	escaped := webhook.Request{URL: every, Body: []byte(hubSpotEvent)}
	if got, err := s.Sign(escaped, held(hubSpotSample.secret)[0], noon); err != nil || got.Header.Get(hubSpotSum) != mac(hubSpotSample.secret, "POST"+undone+hubSpotEvent+now) {
		t.Errorf("signed otherwise than HubSpot says: %v", err)
	}
}

// The older signatures prove less: they count only where an endpoint asks for them, and never beside the newer one.
func TestHubSpotOlderSignatures(t *testing.T) {
	secret := hubSpotSample.secret
	sum := func(text string) string {
		h := sha256.Sum256([]byte(secret + text))
		return hex.EncodeToString(h[:])
	}
	old := func(version, sum string) webhook.Request {
		req := posted(hubSpotEvent, "X-Hubspot-Signature", sum, "X-Hubspot-Signature-Version", version)
		req.URL = hubSpotURL
		return req
	}
	one, two := old("v1", sum(hubSpotEvent)), old("v2", sum("POST"+hubSpotURL+hubSpotEvent))
	newer := hubSpotSigned("POST", hubSpotURL, hubSpotURL, "1795953600000")
	legacy, err := row(t, "hubspot").For(webhook.Endpoint{Legacy: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		req  webhook.Request
		want error
		now  time.Time
	}{
		"the first":                        {one, nil, noon},
		"the second":                       {two, nil, noon},
		"no time is signed":                {two, nil, noon.AddDate(1, 0, 0)},
		"the newer":                        {newer, nil, noon},
		"the newer, too late":              {newer, webhook.ErrTimestamp, noon.Add(time.Hour)},
		"the newer is wrong":               {with(with(two, hubSpotSum, mac("x", "y")), hubSpotStamp, "1795953600000"), webhook.ErrSignature, noon},
		"the newer is empty":               {with(two, hubSpotSum, ""), webhook.ErrSignature, noon},
		"the first as the second":          {old("v2", sum(hubSpotEvent)), webhook.ErrSignature, noon},
		"the second as the first":          {old("v1", sum("POST"+hubSpotURL+hubSpotEvent)), webhook.ErrSignature, noon},
		"no version":                       {with(one, "X-Hubspot-Signature-Version"), webhook.ErrSignature, noon},
		"an unknown version":               {with(one, "X-Hubspot-Signature-Version", "v4"), webhook.ErrSignature, noon},
		"another secret's":                 {old("v1", fmt.Sprintf("%x", sha256.Sum256([]byte("x"+hubSpotEvent)))), webhook.ErrSignature, noon},
		"an HMAC in the place of the hash": {old("v1", hexMAC(sha256.New, secret, hubSpotEvent)), webhook.ErrSignature, noon},
		"the newer's sum as an older one":  {with(with(one, hubSpotSum), "X-Hubspot-Signature", newer.Header.Get(hubSpotSum)), webhook.ErrSignature, noon},
	} {
		if err := legacy.Verify(tt.req, held(secret), webhook.Expect{}, tt.now); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, req := range []webhook.Request{one, two} {
		if err := row(t, "hubspot").Verify(req, held(secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("an older signature that nobody asked for: %v", err)
		}
	}
	forged := old("v1", fmt.Sprintf("%x", sha256.Sum256([]byte(hubSpotEvent))))
	if err := legacy.Verify(forged, held(""), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSecret) {
		t.Errorf("an empty secret: %v", err)
	}
}
