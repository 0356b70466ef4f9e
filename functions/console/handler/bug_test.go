package handler_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"engang/functions/console/handler"
	"engang/shared/control"
	"engang/shared/object"
)

// broken has a bug, whose panic holds what is stored.
type broken struct{ *desk }

func (broken) Config(context.Context, object.Scope) (control.Config, error) { panic("hush") }

func TestABugCostsACallItsAnswerAndNoMore(t *testing.T) {
	var log strings.Builder
	h := handler.Over(broken{&desk{}}, "v1", slog.New(slog.NewTextHandler(&log, nil)))
	out, err := h.Handle(t.Context(), request("GET", "/api/config", "", ""))
	if err != nil || out.StatusCode != 500 || !strings.Contains(out.Body, "urn:engang:reference:req-1") {
		t.Errorf("answered %d %s, %v", out.StatusCode, out.Body, err)
	}
	if !strings.Contains(log.String(), "msg=bug request_id=req-1 kind=string stack=") || strings.Contains(log.String()+out.Body, "hush") {
		t.Errorf("log %s", &log)
	}
	if out, err := h.Handle(t.Context(), request("GET", "/api/version", "", "")); err != nil || out.StatusCode != 200 {
		t.Errorf("the next call: %d, %v", out.StatusCode, err)
	}
}
