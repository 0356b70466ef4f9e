package handler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"engang/functions/receiver/handler"
	"engang/shared/intake"
	"engang/shared/telemetry"
)

// broken is a use case with a bug, whose panic holds what it was given.
type broken struct{}

func (broken) Deliver(_ context.Context, d intake.Delivery) (intake.Reply, error) {
	panic("no such case: " + string(d.Request.Body))
}

// A bug is answered as one, so that the sender repeats what it cost, and the next delivery meets the same process.
func TestABugCostsADeliveryItsAnswerAndNoMore(t *testing.T) {
	var log bytes.Buffer
	h := handler.Over(broken{}, telemetry.NewLogger(&log, telemetry.Process{Function: "receiver"}))
	event, err := json.Marshal(event("POST", "woo-shop", "hush"))
	if err != nil {
		t.Fatal(err)
	}
	answered, err := h.Invoke(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		StatusCode int    `json:"statusCode"`
		Body       string `json:"body"`
	}
	if err := json.Unmarshal(answered, &out); err != nil {
		t.Fatal(err)
	}
	if out.StatusCode != 500 || !strings.Contains(out.Body, "urn:engang:reference:request-1") {
		t.Errorf("answered %s", answered)
	}
	if !strings.Contains(log.String(), `"msg":"bug","function":"receiver","request_id":"request-1","kind":"string","stack":"`) || !strings.Contains(log.String(), `"status":500`) {
		t.Errorf("log %s", &log)
	}
	if all := log.String() + string(answered); strings.Contains(all, "hush") || strings.Contains(all, "no such case") {
		t.Errorf("content of the panic is told: %s", all)
	}
}
