package local_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/control"
)

const product = `{"id":794,"name":"Mug \/ stor","description":"<p>Hvit kopp i keramikk, tåler oppvaskmaskin og rommer tre desiliter kaffe.<\/p>","date_modified_gmt":"2026-11-29T11:59:58","categories":[{"id":1,"name":"Kopper"}],"attributes":[{"name":"Farge","options":["hvit"]}]}`

// deliver posts a signed WooCommerce delivery and returns status and answer.
func deliver(t *testing.T, s *local.System, body string) (int, string) {
	t.Helper()
	d := localtest.Delivery{Endpoint: "woo-shop", Provider: "woocommerce", Header: http.Header{"X-Wc-Webhook-Topic": {"product.updated"}}, Body: body}
	r, err := d.Request(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

// look asks the API.
func look(t *testing.T, s *local.System, path string, into any) int {
	t.Helper()
	answer, err := http.Get(s.URL() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode == http.StatusOK {
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatalf("%s: %s: %v", path, raw, err)
		}
	}
	return answer.StatusCode
}

// settled waits until the object's only operation is completed and its events are settled.
func settled(t *testing.T, s *local.System, id string) control.Object {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		var o control.Object
		if look(t, s, "/api/show?id="+id, &o) == http.StatusOK {
			open := false
			for _, e := range o.Events {
				open = open || e.State == "received"
			}
			if len(o.Events) > 0 && !open {
				return o
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not settled: %+v", id, o)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestADeliveryBecomesAResult(t *testing.T) {
	s := localtest.Start(t, local.Options{Log: t.Output()})
	if status, body := deliver(t, s, product); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	o := settled(t, s, "product:794")
	if len(o.Operations) != 1 || o.Operations[0].State != "completed" || len(o.Operations[0].Attempts) != 1 || len(o.Results) != 1 || s.Stub().Count() != 1 {
		t.Errorf("object %+v, %d model calls", o, s.Stub().Count())
	}
}
