package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	identity "identity-service-client"
)

// network passes requests on to the service. It loses the first answer to each changed operation of lost, and requests challenges that are
// bound to nothing while unbound is true.
type network struct {
	lock    sync.Mutex
	lost    map[string]bool
	unbound bool
	// keys are the Idempotency-Keys that were sent, by path; sent counts requests by method.
	keys map[string][]string
	sent map[string]int
}

func (n *network) RoundTrip(request *http.Request) (*http.Response, error) {
	n.lock.Lock()
	path := request.URL.Path[len("/api/v1"):]
	if key := request.Header.Get("Idempotency-Key"); key != "" {
		n.keys[path] = append(n.keys[path], key)
	}
	n.sent[request.Method]++
	loses := n.lost[path]
	delete(n.lost, path)
	if query := request.URL.Query(); n.unbound && path == "/auth/challenge" {
		request = request.Clone(request.Context())
		for _, name := range []string{"purpose", "bodyHash", "target"} {
			query.Del(name)
		}
		request.URL.RawQuery = query.Encode()
	}
	n.lock.Unlock()
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil && loses {
		response.Body.Close()
		return nil, errors.New("the answer was lost")
	}
	return response, err
}

// story does the jobs of the client at a service: the test looks at what it returns.
func story(ctx context.Context, options identity.Options) (any, error) {
	lost := map[string]bool{"/credentials": true, "/delegations": true}
	between := &network{lost: lost, keys: map[string][]string{}, sent: map[string]int{}}
	options.HTTP = &http.Client{Transport: between}
	id := identity.New(options)
	keys := []identity.AdditionalKey{{Type: "Bls12381G2Key2020", Purpose: []string{"assertionMethod"}}}
	issuer := identity.Must(id.CreateDid(ctx, identity.CreateDidRequest{
		Method: "ids", Options: &identity.CreateDidOptions{StoreSecrets: identity.Ptr(true), AdditionalKeys: &keys},
	})).Did
	signer := func() identity.Signer {
		return identity.Must(identity.SignerOf(identity.Must(id.CreateDid(ctx, identity.CreateDidRequest{Method: "ids"}))))
	}
	hana, aki := signer(), signer()
	schema := identity.Must(id.CreateCredentialSchema(ctx, identity.CreateCredentialSchemaRequest{
		Attributes: []identity.CredentialAttribute{{Name: "age", Type: "integer"}},
	})).Id
	credential := identity.Must(id.IssueCredential(ctx, identity.IssueCredentialRequest{
		IssuerDid: issuer, HolderDid: hana.DID, SchemaId: schema, Attributes: map[string]any{"age": 37},
	})).Id
	action := identity.Must(identity.ActionOf("age", "gte", 18))
	terms := identity.CreateDelegationRequest{
		AgentDid: aki.DID, Actions: &[]string{action}, AutonomyLevel: 2, ExpiresAt: time.Now().Add(time.Hour).Format(time.RFC3339),
	}
	delegation := identity.Must(id.Delegate(ctx, hana, terms)).Id
	token := identity.Must(identity.SignToken(hana, identity.TokenWish{Target: aki.DID, Action: action, DelegationRef: delegation}))
	request := identity.Must(identity.ProofRequest(token, credential, 18))
	request.Challenge, request.Domain = identity.Ptr("order 4711 of today"), identity.Ptr("https://shop.example")
	proof := identity.Must(id.Prove(ctx, aki, request)).Proof
	expect := identity.Expectation{
		Predicate: &identity.ExpectedPredicate{AttributeName: "age", Type: "gte", Value: 18},
		Challenge: request.Challenge, Domain: request.Domain, IssuerDid: &issuer,
	}
	other, loose := expect, identity.Expectation{Challenge: request.Challenge, AllowUnbound: true}
	other.Challenge = identity.Ptr("order 4712 of today")
	verdicts := []any{}
	for _, expected := range []identity.Expectation{expect, other, loose} {
		verdicts = append(verdicts, identity.Must(id.Verify(ctx, proof, expected)).Verdict)
	}
	delegations := 0
	count := func(identity.Delegation) error { delegations++; return nil }
	if err := id.As(hana).EachListDelegations(ctx, count); err != nil {
		return nil, err
	}
	credentials := len(identity.Must(id.As(hana).ListCredentials(ctx)).Items)
	terms.ExpiresAt = "2099-01-01T00:00:00Z"
	_, err := id.Delegate(ctx, hana, terms)
	var refused *identity.IdentityError
	if !errors.As(err, &refused) {
		return nil, err
	}
	ledger, err := readLedger(ctx, id)
	if err != nil {
		return nil, err
	}
	between.unbound = true
	changes := between.sent[http.MethodPatch]
	_, unsigned := id.As(hana).UpdateDid(ctx, hana.DID, service("files"))
	return map[string]any{
		"verdicts": verdicts, "keys": between.keys, "delegations": delegations, "credentials": credentials,
		"refused": []any{refused.Status, refused.Code, refused.Remedy(), refused.RequestID()},
		"ledger":  ledger, "unsigned": unsigned.Error(), "changes": between.sent[http.MethodPatch] - changes,
	}, nil
}

// readLedger verifies two checkpoints of the ledger, that the later one continues the earlier one, and that it has an entry.
func readLedger(ctx context.Context, id *identity.Client) (any, error) {
	check := identity.CheckpointCheck{LogKey: identity.Must(id.GetLedgerKey(ctx)).VerifierKey}
	earlier := identity.Must(identity.VerifyCheckpoint(identity.Must(id.GetLedgerCheckpoint(ctx)), check))
	created := identity.Must(id.CreateDid(ctx, identity.CreateDidRequest{Method: "ids"}))
	entry := identity.Must(id.GetLedgerInclusionProof(ctx, created.TransactionHash))
	later := identity.Must(identity.VerifyCheckpoint(*entry.Checkpoint, check))
	if err := identity.VerifyInclusion(later, entry); err != nil {
		return nil, err
	}
	proof := identity.Must(id.GetLedgerConsistencyProof(ctx, earlier.Size, identity.GetLedgerConsistencyProofParams{Second: &later.Size}))
	return []any{earlier.Origin == later.Origin, later.Size - earlier.Size}, identity.VerifyConsistency(earlier, later, proof)
}
