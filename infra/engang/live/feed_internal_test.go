package live

import (
	"errors"
	"strings"
	"testing"

	"engang/infra/local/poller"
)

func TestAQueueThatCannotBeReceivedFromIsTold(t *testing.T) {
	var out strings.Builder
	f := NewFeed(Screen{Out: &out})
	f.live = true
	f.Batch(poller.Batch{Err: errors.New("receive messages: refused")})
	f.Batch(poller.Batch{})
	close(f.work)
	for do := range f.work {
		do(t.Context())
	}
	if !strings.HasSuffix(out.String(), "  queue      receive messages: refused\n") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("told %q", out.String())
	}
}
