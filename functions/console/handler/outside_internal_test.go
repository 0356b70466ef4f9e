package handler

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"engang/shared/audit"
	"engang/shared/bodies"
	"engang/shared/config"
	"engang/shared/dynamo"
	"engang/shared/inbox"
	"engang/shared/problem"
)

// answered is an answer of a service with this code.
type answered string

func (a answered) Error() string     { return string(a) }
func (a answered) ErrorCode() string { return string(a) }

// Only what a repeat may mend is told to be tried again.
func TestWhatARepeatCannotMendIsNotToldAsTemporary(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{errors.New("no answer"), 503},
		{answered("ThrottlingException"), 503},
		{answered("AccessDeniedException"), 503},
		{answered("ValidationException"), 500},
		{answered("ResourceNotFoundException"), 500},
		{dynamo.ErrTooLarge, 413},
		{bodies.ErrDamaged, 500},
		{config.ErrUnreadable, 500},
		{audit.ErrOther, 500},
		{inbox.ErrNotFound, 404},
	} {
		p := problem.Of(translate(fmt.Errorf("do this: %w", reached(fmt.Errorf("write that: %w", c.err)))), "req-1")
		if p.Status != c.status || (p.RetryAfter > 0) != (c.status == 503) {
			t.Errorf("%v: %d %s, Retry-After %v", c.err, p.Status, p.Detail, p.RetryAfter)
		}
	}
	for _, code := range []answered{"ValidationException", "ResourceNotFoundException"} { // an index is not there; the table
		if p := problem.Of(translate(reached(code)), "req-1"); p.Title != "Refused for good" || !strings.Contains(p.Detail, "`doctor`") || strings.Contains(p.Detail, "later") {
			t.Errorf("%s: %s", code, p.Detail)
		}
	}
	if reached(nil) != nil {
		t.Error("success is a fault")
	}
}
