package model

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"engang/shared/operation"
)

// A fate is what a call that brought nothing usable means.
type fate struct {
	outcome  operation.Outcome
	category operation.Category
	reason   string // ours: never a text of the provider
}

func (f *fate) on(a operation.Answer) operation.Answer {
	a.Outcome, a.Category, a.Reason = f.outcome, f.category, f.reason
	return a
}

func transient(reason string) *fate {
	return &fate{operation.Transient, operation.CategoryTransient, reason}
}

func paused(reason string) *fate {
	return &fate{operation.Paused, operation.CategoryProviderPaused, reason}
}

// misconfigured is paused like a provider's fault: it concerns every call alike, and burning the
// attempts of one operation after the other would not mend it.
func misconfigured(reason string) *fate {
	return &fate{operation.Paused, operation.CategoryConfiguration, reason}
}

func unusable(reason string) *fate {
	return &fate{operation.Unusable, operation.CategoryUnusableOutput, reason}
}

func truncated(reason string) *fate {
	return &fate{operation.Truncated, operation.CategoryUnusableOutput, reason}
}

// unfit is for an input that the model cannot take: this operation fails, others go on.
func unfit(reason string) *fate {
	return &fate{operation.Unusable, operation.CategoryInvalidInput, reason}
}

// byCode sorts by the provider's error code, or by its error type where the code says nothing, whatever
// the HTTP status: quota comes as a 429, as a 400 and as the status of a response. It returns nil for a code
// that is not known here.
func byCode(code, kind, param string) *fate {
	for _, c := range []string{code, kind} {
		switch c {
		case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "quota_exceeded":
			return paused("the provider account's quota or budget is used up")
		case "invalid_api_key", "invalid_organization", "account_deactivated", "organization_deactivated", "access_terminated":
			return paused("the provider does not accept the API key")
		case "model_not_found", "model_not_available":
			return paused("the provider does not know the model, or not for this key")
		case "unsupported_country_region_territory", "data_residency_mismatch", "incorrect_hostname":
			return paused("the provider does not serve this region")
		case "rate_limit_exceeded", "slow_down":
			return transient("the provider's rate limit is reached")
		case "server_error", "server_is_overloaded", "engine_overloaded", "vector_store_timeout":
			return transient("the provider reports a fault of its own")
		case "invalid_prompt", "content_policy_violation", "content_filter", "bio_policy", "cyber_policy", "misalignment_policy_violation":
			return unusable("the provider's policy refuses the input")
		case "context_length_exceeded":
			return unfit("the input is longer than the model can take")
		case "string_above_max_length":
			if param == "input" || strings.HasPrefix(param, "input[") {
				return unfit("the input is longer than the provider takes")
			}
		}
	}
	return nil
}

// byStatus sorts by the HTTP status alone.
func byStatus(status int) *fate {
	switch {
	case status == http.StatusTooManyRequests:
		return transient("the provider's rate limit is reached")
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return transient("the provider asks to try again")
	case status >= 500:
		return transient("the provider reports a fault of its own")
	case status == http.StatusUnauthorized:
		return paused("the provider does not accept the API key")
	case status == http.StatusPaymentRequired:
		return paused("the provider account's quota or budget is used up")
	case status == http.StatusForbidden:
		return paused("the provider does not let this key use the model here")
	case status == http.StatusRequestEntityTooLarge:
		return unfit("the input is longer than the provider takes")
	case status == http.StatusNotFound:
		return misconfigured("nothing is served at the provider's base URL")
	case status < 400:
		return misconfigured("the provider's base URL redirects elsewhere")
	}
	return misconfigured("the provider refuses the form of the request")
}

// refused reads an answer with an error status.
func refused(a operation.Answer, res *http.Response, err error) operation.Answer {
	a.HTTPStatus, a.RequestID = res.StatusCode, word(res.Header.Get("X-Request-Id"))
	f := byStatus(res.StatusCode)
	if e, ok := errors.AsType[*responses.Error](err); ok {
		a.ErrorCode = word(e.Code)
		if a.ErrorCode == "" {
			a.ErrorCode = word(e.Type)
		}
		if known := byCode(e.Code, e.Type, e.Param); known != nil {
			f = known
		}
	}
	if f.outcome == operation.Transient {
		a.RetryAfter = retryAfter(res.Header)
	}
	a.RateLimits = rateLimits(res.Header)
	return f.on(a)
}

// broken explains a call without an answer. Whether it was sent decides if it may have been paid for.
func broken(ctx context.Context, err error, s *sent) *fate {
	if !s.begun && ctx.Err() == nil {
		return misconfigured("the request could not be made")
	}
	how := "nothing was sent"
	if s.away.Load() {
		how = "the request had been sent, and may have been paid for"
	}
	if ctx.Err() != nil {
		return gone(ctx, how)
	}
	if t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && t.Timeout() {
		return transient("the connection timed out; " + how)
	}
	return transient("the connection failed; " + how)
}

// unread explains an answer that came with status 2xx and cannot be read. It may have been paid for; it
// is tried again within the operation's limit, as after a connection that broke.
func unread(ctx context.Context, err error) *fate {
	switch {
	case ctx.Err() != nil:
		return gone(ctx, "the answer had begun, and may have been paid for")
	case errors.Is(err, errTooLong):
		return unusable("the answer is larger than what is read")
	}
	return transient("the answer broke off, or is no JSON document; it may have been paid for")
}

// gone tells a deadline from a cancellation.
func gone(ctx context.Context, how string) *fate {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return transient("no answer within the deadline; " + how)
	}
	return transient("the call was cancelled; " + how)
}
