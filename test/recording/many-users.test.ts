import { testManyUsers } from "./many-users.ts";

testManyUsers(16);
