package handler_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"engang/functions/receiver/handler"
	"engang/shared/intake"
)

// noted is a use case that notes what it was given.
type noted struct{ got intake.Delivery }

func (n *noted) Deliver(_ context.Context, d intake.Delivery) (intake.Reply, error) {
	n.got = d
	return intake.Reply{Status: intake.Accepted, Event: "evt_noted"}, nil
}

// What runs in Lambda reads the event itself: it must see in it what the library's own type does.
func TestAnEventIsReadAsTheLibraryReadsIt(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "events", "receiver", "*.json"))
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var e events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		var want, got noted
		typed, err := handler.Over(&want, slog.New(slog.DiscardHandler)).Handle(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := handler.Over(&got, slog.New(slog.DiscardHandler)).Invoke(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.got, got.got); diff != "" {
			t.Errorf("%s (-library's type +ours):\n%s", file, diff)
		}
		var back events.APIGatewayV2HTTPResponse
		if err := json.Unmarshal(answer, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(typed, back); diff != "" {
			t.Errorf("%s (-answer of Handle +of Invoke):\n%s", file, diff)
		}
		if want.got.Endpoint == "" || len(want.got.Header) == 0 || want.got.Method == "" || !strings.HasPrefix(want.got.URL, "https://") {
			t.Errorf("%s says little: %+v", file, want.got)
		}
	}
}

func TestAnEventThatIsNoneIsAnError(t *testing.T) {
	var n noted
	if answer, err := handler.Over(&n, slog.New(slog.DiscardHandler)).Invoke(t.Context(), []byte(`{"body":"secret`)); err == nil || strings.Contains(err.Error(), "secret") || answer != nil {
		t.Errorf("%s, %v", answer, err)
	}
}
