package problem

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/pause"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// retryAfter is short: senders that read it at all would rather come again soon, and a store that is
// throttled recovers within seconds.
const retryAfter = 5 * time.Second

// The kinds of problem. A type is an identifier, not an address, and never renamed.
var (
	unavailable = Problem{
		Type: "urn:engang:problem:unavailable", Title: "Temporarily unavailable", Status: http.StatusServiceUnavailable, RetryAfter: retryAfter,
		Detail: "This could not be taken now, and nothing was acknowledged. Send the same again later; if it goes on, the operator's log says what is missing.",
	}
	final = Problem{
		Type: "urn:engang:problem:refused-for-good", Title: "Refused for good", Status: http.StatusInternalServerError,
		Detail: "The store refuses what this call asks of it, as it does where its table or an index is not there: a repeat meets the same. `doctor` says what is missing, and what to do.",
	}
	notVerified = Problem{
		Type: "urn:engang:problem:not-verified", Title: "Not verified", Status: http.StatusUnauthorized,
		Detail: "The delivery could not be verified, and nothing of it was stored. Check that the sender is the one configured here, signs with a current secret, has the right time, and that nothing on the way changes the body.",
	}
	notConfigured = Problem{
		Type: "urn:engang:problem:not-configured", Title: "Not configured", Status: http.StatusNotFound,
		Detail: "Nothing of this name is configured here, and nothing was stored. Check the name, and that its configuration was applied.",
	}
	notFound = Problem{
		Type: "urn:engang:problem:not-found", Title: "Not found", Status: http.StatusNotFound,
		Detail: "No such thing is stored, or not any more: what is settled is kept for a limited time. Check the id, the tenant and the environment.",
	}
	noIdentity = Problem{
		Type: "urn:engang:problem:no-identity", Title: "No identity", Status: http.StatusForbidden,
		Detail: "The call has no identity that IAM has checked: nothing was shown, and nothing was done. Sign it with credentials of AWS; where it was signed, have the route that it came by ask for IAM.",
	}
	noRoute = Problem{
		Type: "urn:engang:problem:no-such-address", Title: "No such address", Status: http.StatusNotFound,
		Detail: "There is nothing at this address. Check the path.",
	}
	method = Problem{
		Type: "urn:engang:problem:method-not-allowed", Title: "Method not allowed", Status: http.StatusMethodNotAllowed,
		Detail: "This address does not take this method, and nothing was done. The Allow header says which it takes.",
	}
	tooLarge = Problem{
		Type: "urn:engang:problem:too-large", Title: "Body too large", Status: http.StatusRequestEntityTooLarge,
		Detail: "The body is longer than this address takes, and nothing of it was stored. Send less, or raise the endpoint's limit.",
	}
	malformed = Problem{
		Type: "urn:engang:problem:malformed", Title: "Malformed", Status: http.StatusBadRequest,
		Detail: "The request cannot be read as what this address expects, and nothing of it was stored. Send one UTF-8 JSON document in the sender's own form.",
	}
	query = Problem{
		Type: "urn:engang:problem:bad-parameter", Title: "Unusable parameter", Status: http.StatusBadRequest,
		Detail: "A parameter of the call is not usable, and nothing was done. Correct it and call again.",
	}
	refused = Problem{
		Type: "urn:engang:problem:refused-by-state", Title: "Refused by its state", Status: http.StatusConflict,
		Detail: "It has changed since it was looked at, or does not stand as this act needs it, and nothing was done. Look at it again before deciding.",
	}
	refusedConfig = Problem{
		Type: "urn:engang:problem:refused-configuration", Title: "Configuration refused", Status: http.StatusUnprocessableEntity,
		Detail: "The configuration is refused for the reasons given, and nothing of it was applied. Correct all of them and apply it again.",
	}
	internal = Problem{
		Type: "urn:engang:problem:internal", Title: "Internal error", Status: http.StatusInternalServerError,
		Detail: "Internal error: nothing was acknowledged.",
	}
)

// A row says what an error means to a caller.
type row struct {
	target  error
	problem Problem
	fill    func(*Problem, error) // adds what the error itself knows; nil: nothing
}

// table is judged from the top: an error may wrap several, and what is temporary must never look final.
var table = []row{
	{target: ErrUnavailable, problem: unavailable},
	{target: webhook.ErrSecret, problem: unavailable},
	{target: secrets.ErrUnusable, problem: unavailable},
	{target: context.DeadlineExceeded, problem: unavailable},
	{target: context.Canceled, problem: unavailable},

	{target: ErrFinal, problem: final},

	{target: webhook.ErrSignature, problem: notVerified},
	{target: webhook.ErrTimestamp, problem: notVerified},
	{target: webhook.ErrSource, problem: notVerified},

	{target: ErrIdentity, problem: noIdentity},

	{target: ErrRoute, problem: noRoute},
	{target: config.ErrUnknown, problem: notConfigured},
	{target: inbox.ErrNotFound, problem: notFound},
	{target: operation.ErrNotFound, problem: notFound},

	{target: ErrMethod, problem: method, fill: allow},
	{target: ErrTooLarge, problem: tooLarge},
	{target: ErrQuery, problem: query, fill: parameter},
	{target: ErrMalformed, problem: malformed},
	{target: document.ErrMalformed, problem: malformed},
	{target: webhook.ErrMalformed, problem: malformed},
	{target: object.ErrNoID, problem: query},

	{target: config.ErrRefused, problem: refusedConfig, fill: reasons},
	{target: operation.ErrDecided, problem: decided, fill: decidedBy},
	{target: operation.ErrOtherDraft, problem: otherDraft, fill: stands},
	{target: operation.ErrNewerDraft, problem: newerDraft, fill: version},
	{target: operation.ErrOutlived, problem: outlived, fill: stands},
	{target: operation.ErrOtherFailure, problem: otherFailure, fill: standsAnew},
	{target: operation.ErrInWork, problem: inWork, fill: stands},
	{target: operation.ErrFormerRecipe, problem: formerRecipe, fill: stands},
	{target: operation.ErrNewerResult, problem: newerResult, fill: version},
	{target: operation.ErrNotWaiting, problem: notWaiting, fill: stands},
	{target: operation.ErrRefused, problem: refused, fill: standing},
	{target: inbox.ErrStale, problem: refused, fill: eventStanding},
	{target: pause.ErrLonger, problem: longerPause, fill: pausedBy},
	{target: config.ErrChanged, problem: refused},
}

// Of says what an error means to a caller. An error that the table does not know is an internal one:
// its text stays inside, and the reference, under which the caller logs it, goes out. A reference that
// is empty or no plain id is left out. Of(nil, …) is an internal error too: there was nothing to tell.
func Of(err error, reference string) Problem {
	for _, r := range table {
		if !errors.Is(err, r.target) {
			continue
		}
		p := r.problem
		if r.fill != nil {
			r.fill(&p, err)
		}
		return p
	}
	p := internal
	if plain().MatchString(reference) {
		p.Detail += " The operator finds the cause in the log under the reference " + reference + "."
		p.Instance = "urn:engang:reference:" + reference
	}
	return p
}

// plain is what a request id looks like, and nothing that a caller could have us repeat.
var plain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9=+/_.-]{1,128}$`) })

func allow(p *Problem, err error) {
	if e, ok := errors.AsType[*MethodError](err); ok {
		p.Allow = e.Allow
	}
}

func parameter(p *Problem, err error) {
	if e, ok := errors.AsType[*QueryError](err); ok {
		p.Detail = fmt.Sprintf("The parameter %s is not usable: %s is expected. Nothing was done.", e.Parameter, e.Want)
	}
}

func standing(p *Problem, err error) {
	stands(p, err)
	if e, ok := errors.AsType[*operation.RefusedError](err); ok && e.Stored.State != "" {
		p.Detail = fmt.Sprintf("The operation is %s, this act needs it otherwise, and nothing was done. Look at it again before deciding.", e.Stored.State)
	}
}

func reasons(p *Problem, err error) { p.Faults, _ = errors.AsType[config.Faults](err) }
