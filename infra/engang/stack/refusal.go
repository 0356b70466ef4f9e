package stack

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// identityRefusals are the codes by which AWS says that it is about who asks.
var identityRefusals = []string{
	"AccessDenied", "AccessDeniedException", "ExpiredToken", "ExpiredTokenException", "IncompleteSignature", "InvalidClientTokenId", "InvalidSignatureException",
	"MissingAuthenticationTokenException", "UnrecognizedClientException", "Forbidden",
}

// RefusesIdentity tells whether an error of a service of AWS is about who asks, and its code.
func RefusesIdentity(err error) (code string, ok bool) {
	e, ok := errors.AsType[smithy.APIError](err)
	if !ok || !slices.Contains(identityRefusals, e.ErrorCode()) {
		return "", false
	}
	return e.ErrorCode(), true
}

// clockRefusals are what AWS says to a signature whose time it does not take.
var clockRefusals = []string{"RequestTimeTooSkewed", "Signature expired", "Signature not yet current", "RequestExpired"}

func refusesClock(text string) bool {
	return slices.ContainsFunc(clockRefusals, func(words string) bool { return strings.Contains(text, words) })
}

// RefusesClock tells whether a service of AWS refuses a signature for its time. Its code says only that it is about who
// asks.
func RefusesClock(err error) bool {
	e, ok := errors.AsType[smithy.APIError](err)
	return ok && refusesClock(e.ErrorCode()+" "+e.ErrorMessage())
}

// notNow are the codes by which AWS says that it cannot now, whatever the status.
var notNow = []string{"InternalServerError", "InternalFailure", "ServiceUnavailable", "Throttling", "ThrottlingException", "RequestThrottled", "TooManyRequestsException"}

// CannotNow tells whether a service of AWS has answered that it cannot now: nothing is wrong with the call.
func CannotNow(err error) bool {
	if e, ok := errors.AsType[smithy.APIError](err); ok && (e.ErrorFault() == smithy.FaultServer || slices.Contains(notNow, e.ErrorCode())) {
		return true
	}
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return ok && (answer.HTTPStatusCode() >= http.StatusInternalServerError || answer.HTTPStatusCode() == http.StatusTooManyRequests)
}
