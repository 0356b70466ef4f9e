package dynamotest

// Places says which engines tests run on under an environment.
func Places(env func(string) string) (engines []string, err error) {
	all, err := places(env)
	for _, p := range all {
		engines = append(engines, p.engine)
	}
	return engines, err
}
