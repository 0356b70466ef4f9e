package webhook_test

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"engang/shared/document"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// A receiver asks for a handshake first, verifies the raw bytes, and only then reads them.
func Example() {
	scheme, _ := webhook.Lookup("woocommerce")
	secret := secrets.NewValue("local-woo-secret")
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

	sent := webhook.Request{Header: http.Header{}, Body: []byte(`{"id":794,"date_modified_gmt":"2026-11-29T11:59:57"}`)}
	sent.Header.Set("X-WC-Webhook-Topic", "product.updated")
	sent, err := scheme.Sign(sent, secret, now)
	if err != nil {
		fmt.Println(err)
		return
	}

	if _, ping := scheme.Handshake(sent); ping {
		return
	}
	if err := scheme.Verify(sent, []secrets.Value{secret}, webhook.Expect{}, now); err != nil {
		fmt.Println(err)
		return
	}
	doc, err := document.Decode(sent.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	fact, err := scheme.Identify(sent, doc, webhook.Rule{}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s of %s:%s, version %s, key %.24s…\n", fact.Type, fact.Kind, fact.ObjectID, fact.Version, fact.Key)
	// Output: product.updated of product:794, version 2026-11-29T11:59:57, key product.updated#bcc4c0ee…
}

func ExampleScheme_Verify() {
	scheme, _ := webhook.Lookup("standard-webhooks")
	secret := secrets.NewValue("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	then := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	sent, err := scheme.Sign(webhook.Request{Body: []byte(`{"type":"contact.created"}`)}, secret, then)
	if err != nil {
		fmt.Println(err)
		return
	}

	held := []secrets.Value{secret}
	fmt.Println(scheme.Verify(sent, held, webhook.Expect{}, then.Add(5*time.Minute)))
	fmt.Println(scheme.Verify(sent, held, webhook.Expect{}, then.Add(6*time.Minute)))
	fmt.Println(errors.Is(scheme.Verify(sent, nil, webhook.Expect{}, then), webhook.ErrSecret))
	// Output:
	// <nil>
	// verify standard-webhooks delivery: more than 5m0s off: signed time outside the window
	// true
}

// An endpoint's rule says what the object is where the provider's row cannot know it.
func ExampleScheme_Identify() {
	scheme, _ := webhook.Lookup("standard-webhooks")
	at, _ := document.ParsePointer("/data/id")
	body := []byte(`{"type":"contact.created","data":{"id":"1f81"}}`)
	req := webhook.Request{Header: http.Header{"Webhook-Id": {"msg_1"}}, Body: body}
	doc, _ := document.Decode(body)

	fact, _ := scheme.Identify(req, doc, webhook.Rule{Kind: "contact", ID: &at}, time.Now())
	fmt.Println(fact.Key, fact.Kind, fact.ObjectID)
	fact, _ = scheme.Identify(req, doc, webhook.Rule{}, time.Now())
	fmt.Println(fact.Key, fact.Flaw)
	// Output:
	// msg_1 contact 1f81
	// msg_1 neither the provider nor the endpoint's configuration says what object the event is about
}

func ExampleScheme_Handshake() {
	scheme, _ := webhook.Lookup("woocommerce")
	pong, ok := scheme.Handshake(webhook.Request{Method: http.MethodPost, Body: []byte("webhook_id=12")})
	fmt.Println(pong.Status, ok)
	// Output: pong true
}
