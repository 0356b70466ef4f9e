package problem

import (
	"errors"
	"fmt"
	"strings"
)

// The errors of the HTTP edge, which no domain package owns.
var (
	// ErrUnavailable says that something we need cannot be reached: the store, the parameter store. Whoever
	// cannot know whether an event is stored wraps it, and acknowledges nothing.
	ErrUnavailable = errors.New("temporarily unavailable")

	// ErrFinal says that something we need has answered that it will never do what it was asked for: an index or the
	// table is not there. A repeat meets the same until the stack is mended.
	ErrFinal = errors.New("refused for good")

	// ErrMethod says that the method is not for this address. Use [MethodError] to say which are.
	ErrMethod = errors.New("method not allowed")

	// ErrTooLarge says that the body is longer than the address takes.
	ErrTooLarge = errors.New("body too large")

	// ErrMalformed says that the bytes of a call cannot be read: broken base64, no UTF-8.
	ErrMalformed = errors.New("malformed request")

	// ErrQuery says that a parameter of a call is not usable. Use [QueryError] to say which.
	ErrQuery = errors.New("unusable parameter")

	// ErrIdentity says that an act of a person was asked for by nobody that has a name.
	ErrIdentity = errors.New("no identity")

	// ErrRoute says that there is nothing at this address.
	ErrRoute = errors.New("no such address")
)

// A MethodError refuses a method and says which are allowed.
type MethodError struct{ Allow []string }

// Error names the methods that are allowed.
func (e *MethodError) Error() string {
	return fmt.Sprintf("%v, only %s", ErrMethod, strings.Join(e.Allow, ", "))
}

// Is makes errors.Is(err, ErrMethod) true.
func (e *MethodError) Is(target error) bool { return target == ErrMethod }

// A QueryError refuses a parameter. It holds the parameter's name and what is expected, both our own
// words, never the value that was given.
type QueryError struct{ Parameter, Want string }

// Error names the parameter and what is expected.
func (e *QueryError) Error() string {
	return fmt.Sprintf("%v %s: want %s", ErrQuery, e.Parameter, e.Want)
}

// Is makes errors.Is(err, ErrQuery) true.
func (e *QueryError) Is(target error) bool { return target == ErrQuery }
