import { readFile } from "node:fs/promises";
import openapiTS, { astToString, COMMENT_HEADER } from "openapi-typescript";
import { expect, it } from "vitest";

// Vitest runs in the dashboard's folder. When this fails: `npm run types`.
it("the generated types are those of the service's own description", async () => {
  const description = JSON.parse(await readFile("openapi.json", "utf-8"));
  const generated =
    COMMENT_HEADER + astToString(await openapiTS(description, { alphabetize: true, enumValues: true }));
  expect(await readFile("src/client/schema.ts", "utf-8")).toBe(generated);
});
