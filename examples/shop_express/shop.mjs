// An age-gated shop in Express: admits a visitor whose proof says that a person is at least 18, and learns nothing else.
//
//     npm install --prefix examples/shop_express
//     python examples/run.py shop_express
//
// SHOP_ISSUERS lists the DIDs of the issuers that the shop trusts, with commas. IDENTITY_URL is the service that verifies.
import { randomBytes } from "node:crypto";
import express from "express";

const audience = process.env.SHOP_ORIGIN ?? "https://shop.example";
const issuers = new Set(process.env.SHOP_ISSUERS.split(","));
const predicate = { attributeName: "age", type: "gte", value: 18 };
const challengeMs = 300_000, maxChallenges = 10_000;
// The challenges that were not used yet, with the time at which they expire.
const challenges = new Map();

const app = express();
app.use(express.json({ limit: "64kb" }));

// What a proof must be made for: one use, this shop, one question.
app.get("/challenge", (_request, response) => {
  const now = Date.now();
  for (const [one, end] of challenges) if (end < now || challenges.size >= maxChallenges) challenges.delete(one);
  const challenge = randomBytes(24).toString("base64url");
  challenges.set(challenge, now + challengeMs);
  response.json({ challenge, domain: audience, predicate });
});

// The verdict must be "valid": "unbound" could be a replay.
app.post("/enter", async (request, response) => {
  const { challenge, issuerDid, proof } = request.body ?? {};
  const end = challenges.get(challenge) ?? 0;
  challenges.delete(challenge);
  const refuse = (reason) => response.status(403).json({ admitted: false, reason });
  if (end < Date.now()) return refuse("the challenge is unknown, used or expired");
  if (!issuers.has(issuerDid)) return refuse("the issuer is not trusted here");
  const answer = await fetch(`${process.env.IDENTITY_URL}/api/v1/zkp/proofs/verify`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    // The holder agreed, and the credential was valid and not revoked on the day of the proof.
    body: JSON.stringify({
      challenge, domain: audience, predicate, issuerDid, proof,
      requires: ["holder", "credentialValidity", "credentialStatus"],
    }),
  });
  const verified = await answer.json();
  if (verified.verdict !== "valid") return refuse(verified.verdict ?? verified.error.message);
  return response.json({ admitted: true, reason: verified.verdict });
});

app.listen(Number(process.env.PORT ?? 8000), "127.0.0.1");
