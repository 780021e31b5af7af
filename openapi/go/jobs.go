package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Expectation has the parts that a verifier compares with a proof: the members of a request of VerifyProof, without the proof.
type Expectation VerifyProofRequest

// ErrUnbound reports an expectation that leaves out a part without which a proof could be a replay, or answer another question.
var ErrUnbound = errors.New("the proof could be a replay")

// Delegate creates a delegation of holder, who signs it. Terms need no HolderDid.
func (c *Client) Delegate(ctx context.Context, holder Signer, terms CreateDelegationRequest) (Delegation, error) {
	terms.HolderDid = holder.DID
	return c.As(holder).CreateDelegation(ctx, terms)
}

// Prove requests the proof that a token for one predicate allows its agent; request is that of ProofRequest.
func (c *Client) Prove(ctx context.Context, agent Signer, request DelegatedProofRequest) (ZKProof, error) {
	made, err := c.As(agent).GenerateDelegatedProof(ctx, request)
	return made.Proof, err
}

// Verify calls VerifyProof for the text of a proof. It returns ErrUnbound unless expect has predicates, challenge, domain and issuer.
func (c *Client) Verify(ctx context.Context, proof string, expect Expectation) (VerificationResult, error) {
	missing := []string{}
	note := func(name string, given bool) {
		if !given {
			missing = append(missing, name)
		}
	}
	note("predicate", expect.Predicate != nil || expect.Predicates != nil || expect.Credentials != nil)
	note("challenge", expect.Challenge != nil)
	note("domain", expect.Domain != nil)
	note("issuerDid", expect.IssuerDid != nil || expect.Credentials != nil)
	if len(missing) > 0 {
		return VerificationResult{}, fmt.Errorf("%w: expect %s", ErrUnbound, strings.Join(missing, ", "))
	}
	expect.Proof = proof
	return c.VerifyProof(ctx, VerifyProofRequest(expect))
}
