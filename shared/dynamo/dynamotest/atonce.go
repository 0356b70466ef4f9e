package dynamotest

import "sync"

// Many is how many callers a race test lets loose.
const Many = 64

// AtOnce runs do [Many] times at once, each with its number, and returns what each returned, by number.
func AtOnce(do func(i int) error) []error {
	errs := make([]error, Many)
	gate := make(chan struct{})
	var all sync.WaitGroup
	for i := range Many {
		all.Go(func() {
			<-gate
			errs[i] = do(i)
		})
	}
	close(gate)
	all.Wait()
	return errs
}
